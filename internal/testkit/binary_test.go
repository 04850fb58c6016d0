package testkit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuildBinary(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "new", "hello")
	path, err := buildBinary(context.Background(), "./testdata/hello", target)
	require.NoError(t, err)
	require.Equal(t, target, path)
	out, err := exec.CommandContext(testContext(t), path).Output()
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(out))

	before, err := os.Stat(path)
	require.NoError(t, err)
	_, err = buildBinary(context.Background(), "./testdata/nothing-there", target)
	require.NoError(t, err, "a binary that exists is taken as it is")
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}

func TestBuildBinaryRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	_, err := buildBinary(context.Background(), "./testdata/hello", plain)
	require.ErrorContains(t, err, "not an executable file")
	_, err = buildBinary(context.Background(), "./testdata/hello", t.TempDir())
	require.ErrorContains(t, err, "not an executable file")
	_, err = buildBinary(context.Background(), "./testdata/nothing-there", filepath.Join(t.TempDir(), "x"))
	require.ErrorContains(t, err, "go build")
	require.ErrorContains(t, err, "nothing-there")
}

func TestCachedPathIsOneForACheckout(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	path, err := cachedPath(context.Background(), "deerflow")
	require.NoError(t, err)
	again, err := cachedPath(context.Background(), "deerflow")
	require.NoError(t, err)
	require.Equal(t, path, again)
	require.Equal(t, "deerflow", filepath.Base(path))
	require.Contains(t, path, os.Getenv("HOME"))
}

func TestLockFileIsExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var held atomic.Bool
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				unlock, err := lockFile(path)
				if err != nil || !held.CompareAndSwap(false, true) {
					t.Errorf("two holders, or no lock: %v", err)
					return
				}
				runtime.Gosched()
				held.Store(false)
				unlock()
			}
		})
	}
	group.Wait()
}
