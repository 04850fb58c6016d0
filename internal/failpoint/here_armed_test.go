//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnArmedPointIsReachedOnceAndByItsKeyAlone(t *testing.T) {
	dir = t.TempDir()
	armed := filepath.Join(dir, "tool-done@a.armed")
	require.NoError(t, os.WriteFile(armed, []byte("1"), 0o600))
	Here(ToolDone, "b")
	Here(ToolBegun, "a")
	Here(ToolDone, "a") // the one that passes
	require.FileExists(t, armed)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		Here(ToolDone, "a")
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "tool-done@a.reached"))
		return err == nil
	}, 10*time.Second, time.Millisecond)
	require.NoFileExists(t, armed)
	Here(ToolDone, "a")
	select {
	case <-returned:
		t.Fatal("the call that reached the point went on")
	default:
	}
}
