package testkit

import (
	"context"
	"os"
	"sync"
	"testing"
)

// nextEnv names a binary of the next version, as binaryEnv does one of this.
const nextEnv = "DEERFLOW_TEST_NEXT_BINARY"

// builtNext is the one build of it in this test process.
var builtNext = sync.OnceValues(func() (string, error) {
	return buildBinary(context.Background(), mainPackage, os.Getenv(nextEnv), "nextloop")
})

// NextBinary returns the path of a deerflow binary whose turn loop is of the
// version after the current one. As with [Binary], DEERFLOW_TEST_NEXT_BINARY
// names one that exists, or the place to build it.
func NextBinary(t testing.TB) string {
	t.Helper()
	path, err := builtNext()
	if err != nil {
		t.Fatalf("the binary of the next version: %v", err)
	}
	return path
}
