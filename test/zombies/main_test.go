package zombies

import (
	"fmt"
	"os"
	"testing"

	"deerflow/internal/store/pgtest"
)

// postgres is the server that all tests share.
var postgres pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
