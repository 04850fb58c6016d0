package descriptors

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program gets what is passed to it, and nothing that this process came with.
func TestKeep(t *testing.T) {
	t.Parallel()
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY, 0) // not closed on exec
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	const high = 200
	require.NoError(t, unix.Dup3(fd, high, 0))
	defer func() { _ = unix.Close(high) }()
	has := func(extra ...*os.File) (inherited, passed bool) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("test -d /proc/self/fd/%d/. && echo inherited; test -p /proc/self/fd/3 && echo passed; true", high))
		cmd.ExtraFiles = extra
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out) == "inherited\n" || string(out) == "inherited\npassed\n", string(out) == "passed\n" || string(out) == "inherited\npassed\n"
	}
	inherited, _ := has()
	require.True(t, inherited, "else the test shows nothing")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	Keep()
	inherited, passed := has(r)
	require.False(t, inherited)
	require.True(t, passed)
}
