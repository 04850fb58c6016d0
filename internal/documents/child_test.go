package documents

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"deerflow/internal/testkit"
)

// inChild converts in a process that goes wrong as how says.
func inChild(t *testing.T, how string, timeout time.Duration) *Child {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return NewChild(ChildOptions{
		Command: []string{"/usr/bin/env", asChild + "=" + how, program}, Options: Options{CacheDir: cache}, Timeout: timeout, AtOnce: 1,
	})
}

func TestChild(t *testing.T) {
	t.Parallel()
	c := inChild(t, "well", 5*time.Minute)
	doc, err := c.Convert(t.Context(), "a.pdf", bytes.NewReader(testkit.PDF("# Of the child\nsome text that is no heading, and long enough")))
	require.NoError(t, err)
	require.Equal(t, 1, doc.Pages)
	require.Contains(t, doc.Markdown, "# Of the child\n")
	name := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(name, testkit.Docx("# From a file"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	doc, err = c.Convert(t.Context(), "a.docx", f)
	require.NoError(t, err)
	require.Equal(t, "# From a file\n", doc.Markdown)
	_, err = c.Convert(t.Context(), "a.docx", strings.NewReader("no document"))
	require.EqualError(t, err, "its content is no docx document")
	_, err = c.Convert(t.Context(), "a.docx", strings.NewReader("PK"))
	require.ErrorContains(t, err, "the document is damaged: zip: not a valid zip file")
	var fault *ConversionError
	require.ErrorAs(t, err, &fault)
}

// A document that gets the better of its reader takes the child down, not us.
func TestAChildThatDoesNotComeToItsEnd(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"crash": "it crashes its reader: panic: the parser is lost", "memory": "it crashes its reader: ", "babble": "its reader gave no answer", "hang": "it took longer than 2s",
	} {
		limit := 5 * time.Minute
		if how == "hang" {
			limit = 2 * time.Second
		}
		_, err := inChild(t, how, limit).Convert(t.Context(), "a.pdf", strings.NewReader("x"))
		require.ErrorContains(t, err, want)
		var fault *ConversionError
		require.ErrorAs(t, err, &fault, how)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := inChild(t, "hang", time.Minute).Convert(ctx, "a.pdf", strings.NewReader("x"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = NewChild(ChildOptions{Command: []string{"/no/such/program"}}).Convert(t.Context(), "a.pdf", strings.NewReader("x"))
	require.ErrorContains(t, err, "start the converter")
}

// Whatever is wrong with a document is its own fault, and ends the conversion.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	good := map[string][]byte{
		"a.docx": testkit.DocxOf(p("berschrift1", r("One"))+li("2", "0", "first")+p("", r("text")), map[string]string{"styles": styles, "numbering": numbering}),
		"a.pptx": deck(sld("", shape("title", ap(0, "Title"))+shape("body", ap(0, "text")))),
		"a.xlsx": workbook(t, excelize.Options{}, func(f *excelize.File) { set(f, "Sheet1", "A1", "text") }),
		"a.pdf":  testkit.PDF("# Title\ntext", "more"),
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"a.docx", "a.docx", "a.pptx", "a.pptx", "a.xlsx", "a.xlsx", "a.pdf"}).Draw(rt, "name")
		data := bytes.Clone(good[name])
		for range rapid.IntRange(0, 8).Draw(rt, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		data = data[:rapid.IntRange(len(data)/2, len(data)).Draw(rt, "length")]
		_, err := convert(t, name, data)
		if err != nil {
			var fault *ConversionError
			require.ErrorAs(rt, err, &fault)
		}
	})
}

func FuzzConvert(f *testing.F) {
	f.Add("a.docx", testkit.Docx("# One", "text"))
	f.Add("a.pptx", deck(sld("", shape("title", ap(0, "Title")))))
	f.Add("a.xls", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		_, err := convert(t, name, data)
		if err != nil {
			var fault *ConversionError
			require.ErrorAs(t, err, &fault)
		}
	})
}
