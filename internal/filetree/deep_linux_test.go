package filetree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A tree with more levels than a process may have descriptors is removed.
func TestRemoveDeep(t *testing.T) { //nolint:paralleltest // the limit is that of the process
	const limit = 100
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tree"), 0o755))
	makeDeep(t, filepath.Join(dir, "tree"), 20*limit)
	root := openRoot(t, dir)
	var before unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &before))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: before.Max}, nil))
	defer func() { require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &before, nil)) }()
	require.NoError(t, Remove(t.Context(), root, "tree"))
	require.NoDirExists(t, filepath.Join(dir, "tree"))
}

// Holes stay holes: a file of a terabyte that holds nothing is copied at once.
func TestCopyHoles(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(from, "sparse"))
	require.NoError(t, err)
	const size, at = 1 << 40, 1 << 30
	if f.Truncate(size) != nil {
		t.Skip("SKIPPED, nothing was tested: this file system has no such files")
	}
	_, err = f.WriteAt([]byte("middle"), at)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, Copy(t.Context(), openRoot(t, from), openRoot(t, to)))
	out, err := os.Open(filepath.Join(to, "sparse"))
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	info, err := out.Stat()
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size())
	got := make([]byte, 8)
	_, err = out.ReadAt(got, at-1)
	require.NoError(t, err)
	require.Equal(t, "\x00middle\x00", string(got))
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(out.Fd()), &st))
	require.Less(t, st.Blocks*512, int64(1<<20))
}
