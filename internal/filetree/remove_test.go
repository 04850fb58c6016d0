package filetree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

// makeDeep makes directories in one another, with a file in the last.
func makeDeep(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, at.Mkdir("d", 0o755))
		inner, err := at.OpenRoot("d")
		require.NoError(t, err)
		require.NoError(t, at.Close())
		at = inner
	}
	require.NoError(t, at.WriteFile("leaf", nil, 0o644))
	require.NoError(t, at.Close())
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := openRoot(t, dir)
	outside := filepath.Join(dir, "outside")
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o644))
	for i := range 40 {
		at := filepath.Join(dir, "tree", fmt.Sprint(i%5), fmt.Sprint(i%4), fmt.Sprint(i))
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, "f"), nil, 0o400))
		require.NoError(t, os.Symlink(outside, filepath.Join(at, "link")))
	}
	for i := range batch + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tree", fmt.Sprint("many-", i)), nil, 0o644))
	}
	require.NoError(t, Remove(t.Context(), root, "tree"))
	require.NoDirExists(t, filepath.Join(dir, "tree"))
	require.FileExists(t, filepath.Join(outside, "kept"))
	require.NoError(t, Remove(t.Context(), root, "tree"), "nothing there")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "tree")))
	require.NoError(t, Remove(t.Context(), root, "tree"))
	require.FileExists(t, filepath.Join(outside, "kept"))
}

// Directories without rights, as the Go module cache and chmod -R a-w leave them.
// Root needs no right, so it is not tested then: go test -c and setpriv help.
func TestRemoveReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED, nothing was tested: root may write everywhere; run this as another user")
	}
	dir := t.TempDir()
	inner := filepath.Join(dir, "tree/go/pkg/mod/x@v1")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(inner, "x.go"), nil, 0o444))
	for at, mode := inner, os.FileMode(0o555); at != dir; at, mode = filepath.Dir(at), mode&0o444 {
		require.NoError(t, os.Chmod(at, mode))
		if mode == 0 {
			break
		}
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tree2"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tree2/shut"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree2"), 0))
	for _, name := range []string{"tree", "tree2"} {
		require.NoError(t, Remove(t.Context(), openRoot(t, dir), name))
		require.NoDirExists(t, filepath.Join(dir, name))
	}
}

// What was begun and not ended is gone on with.
func TestRemoveAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := openRoot(t, dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tree"), 0o755))
	makeDeep(t, filepath.Join(dir, "tree"), 50)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Remove(ctx, root, "tree"), context.Canceled)
	require.DirExists(t, filepath.Join(dir, "tree"))
	require.NoError(t, Remove(t.Context(), root, "tree"))
	require.NoDirExists(t, filepath.Join(dir, "tree"))
}
