package crash

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"deerflow/internal/store/pgtest"
)

// postgres is the server that all tests of the split shape share.
var postgres pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// patience bounds every wait: it is reached by a failure only.
const patience = 2 * time.Minute

// tick is the pause between two looks at a condition.
const tick = 2 * time.Millisecond

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
