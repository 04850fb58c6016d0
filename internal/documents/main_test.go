package documents

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// asChild makes the test binary the child that converts a document; the value
// says what goes wrong in it.
const asChild = "DOCUMENTS_TEST_CHILD"

// cache keeps the PDF engine for all tests.
var cache string

func TestMain(m *testing.M) {
	if how := os.Getenv(asChild); how != "" {
		os.Exit(child(how))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "documents-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		cache = dir
		// Once, before tests that run side by side would all do it.
		_, stop, err := startEngine(context.Background(), cache)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		stop()
		return m.Run()
	}())
}

func child(how string) int {
	work := os.Args[len(os.Args)-1]
	switch how {
	case "hang":
		select {}
	case "crash":
		panic("the parser is lost")
	case "memory":
		limitSelf(0)
		hold := []byte{1}
		for {
			hold = append(hold, hold...)
		}
	case "babble":
		fmt.Println("hello")
		return 0
	}
	if err := Serve(context.Background(), work, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func convert(t *testing.T, name string, data []byte) (Document, error) {
	t.Helper()
	return Convert(t.Context(), name, bytes.NewReader(data), int64(len(data)), Options{CacheDir: cache})
}

// text is the Markdown of a document that can be converted.
func text(t *testing.T, name string, data []byte) string {
	t.Helper()
	doc, err := convert(t, name, data)
	require.NoError(t, err)
	return doc.Markdown
}

// reason is why a document cannot be converted.
func reason(t *testing.T, name string, data []byte) string {
	t.Helper()
	_, err := convert(t, name, data)
	require.Error(t, err)
	var fault *ConversionError
	require.ErrorAs(t, err, &fault)
	return err.Error()
}
