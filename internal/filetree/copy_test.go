package filetree

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "a/empty"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a/f.sh"), []byte("text"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a/none"), nil, 0o600))
	require.NoError(t, os.Symlink("f.sh", filepath.Join(from, "a/link")))
	require.NoError(t, Copy(t.Context(), openRoot(t, from), openRoot(t, to)))
	got, err := os.ReadFile(filepath.Join(to, "a/f.sh"))
	require.NoError(t, err)
	require.Equal(t, "text", string(got))
	info, err := os.Stat(filepath.Join(to, "a/f.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.DirExists(t, filepath.Join(to, "a/empty"))
	require.FileExists(t, filepath.Join(to, "a/none"))
	_, err = os.Lstat(filepath.Join(to, "a/link"))
	require.ErrorIs(t, err, os.ErrNotExist)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Copy(ctx, openRoot(t, from), openRoot(t, t.TempDir())), context.Canceled)
}

func TestCopyDeep(t *testing.T) {
	t.Parallel()
	for levels, want := range map[int]error{MaxDepth - 1: nil, MaxDepth: ErrTooDeep} {
		dir, to := t.TempDir(), t.TempDir()
		makeDeep(t, dir, levels)
		require.ErrorIs(t, Copy(t.Context(), openRoot(t, dir), openRoot(t, to)), want)
	}
}
