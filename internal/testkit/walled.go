package testkit

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// BubblewrapVariable makes it an error that bubblewrap does not work here, where
// tests that need it would otherwise be skipped.
const BubblewrapVariable = "DEERFLOW_TEST_BUBBLEWRAP"

// NeedBubblewrap skips a test, loudly, where bubblewrap does not work.
func NeedBubblewrap(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true").CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv(BubblewrapVariable) == "required":
		t.Fatalf("bubblewrap does not work here: %v: %s", err, out)
	default:
		t.Skipf("SKIPPED, nothing was tested: bubblewrap does not work here: %v: %s", err, out)
	}
}

// WalledConfigFor is [ConfigFor] with commands walled in by bubblewrap.
func WalledConfigFor(m *Model, extra ...string) string {
	return strings.Replace(ConfigFor(m, extra...), localSandbox, "  use: bubblewrap\n", 1)
}
