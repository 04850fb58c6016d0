package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcquire(t *testing.T) {
	t.Parallel()
	p := newLocal(t, nil)
	a, b := acquire(t, p, "u1", "t1"), acquire(t, p, "u1", "t1")
	require.Equal(t, "local:u1:t1", a.ID())
	require.Equal(t, a.ID(), b.ID())
	for _, dir := range []string{"workspace", "uploads", "outputs"} {
		require.DirExists(t, filepath.Join(p.root, "u1", "threads", "t1", "user-data", dir))
	}
	put(t, a, "x", "1")
	require.Equal(t, "1", get(t, b, Workspace+"/x"))
	_, err := acquire(t, p, "u1", "t2").Stat(t.Context(), "x")
	require.ErrorIs(t, err, os.ErrNotExist)

	for _, id := range []string{"", "../t1", "a/b", "a b", ".", strings.Repeat("x", 65)} {
		_, err := p.Acquire(t.Context(), "u1", id)
		require.Error(t, err, id)
	}
}

// J07: first calls at once make one sandbox, and one of them can tell that it was
// not there.
func TestAcquireAtOnce(t *testing.T) {
	t.Parallel()
	p := newLocal(t, nil)
	var wg sync.WaitGroup
	ids := make([]string, 16)
	var fresh atomic.Int64
	for i := range ids {
		wg.Go(func() {
			s, err := p.Acquire(t.Context(), "u1", "t1")
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
			if s.Fresh() {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, "local:u1:t1", id)
	}
	require.Positive(t, fresh.Load())
	require.False(t, acquire(t, p, "u1", "t1").Fresh())
}

// Files that were deleted under a live sandbox leave it usable.
func TestRemove(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "x", "1")
	require.NoError(t, l.provider.Remove(t.Context(), "u1", "t1"))
	require.NoDirExists(t, l.userData.host)
	require.NoError(t, l.provider.Remove(t.Context(), "u1", "t1"))
	_, err := l.Stat(t.Context(), "x")
	require.ErrorIs(t, err, os.ErrNotExist)
	put(t, l, "y", "2")
	require.Equal(t, "2", get(t, l, "y"))
	require.Error(t, l.provider.Remove(t.Context(), "u1", ".."))
}

func TestUserDir(t *testing.T) {
	t.Parallel()
	require.Equal(t, "default", UserDir(""))
	require.Equal(t, "alice_1", UserDir("alice_1"))
	require.Regexp(t, `^a-b-c-[0-9a-f]{16}$`, UserDir("a@b/c"))
	require.NotEqual(t, UserDir("a@b"), UserDir("a/b"))
	require.Regexp(t, `^[A-Za-z0-9-]+$`, UserDir("../../张三"))
	require.Less(t, len(UserDir(strings.Repeat("é", 500))), 80)
}

// A data directory that is a file is the fault of the host, not of the call.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	require.NoError(t, os.RemoveAll(l.provider.root))
	require.NoError(t, os.WriteFile(l.provider.root, nil, 0o600))
	_, err := l.Stat(t.Context(), "x")
	require.ErrorIs(t, err, ErrUnavailable)
	noHost(t, l, err.Error())
	_, err = l.provider.Acquire(t.Context(), "u1", "t1")
	require.ErrorIs(t, err, ErrUnavailable)
}

// A shell would split this path; commands still get the right files.
func TestRootWithSpaces(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "it's shared")
	require.NoError(t, os.Mkdir(shared, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "m"), []byte("mounted"), 0o600))
	l := newBox(t, func(o *LocalOptions) {
		o.Root = filepath.Join(o.Root, "my $data (1)")
		o.Mounts = []Mount{{Virtual: "/mnt/shared", Host: shared}}
	})
	put(t, l, "a b.txt", "hello")
	r, err := l.Exec(t.Context(), Command{Line: "cat '/mnt/user-data/workspace/a b.txt' /mnt/shared/m; pwd; pwd -P; echo $HOME"})
	require.NoError(t, err)
	require.Equal(t, "hellomounted"+strings.Repeat(Workspace+"\n", 3), r.Stdout)
	require.Empty(t, r.Stderr)
}
