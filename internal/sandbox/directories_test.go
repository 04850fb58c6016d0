package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Something else in the place of one of the thread's directories costs the
// conversation nothing: it is moved aside, not followed, and the model is told.
func TestReplacedDirectory(t *testing.T) {
	t.Parallel()
	p := newLocal(t, nil)
	other := acquire(t, p, "u2", "t2")
	put(t, other, "secret.txt", "of somebody else")
	for name, replace := range map[string]func(dir string) error{
		"a link inside":           func(dir string) error { return os.Symlink("uploads", dir) },
		"a virtual link":          func(dir string) error { return os.Symlink(Uploads, dir) },
		"a link to itself":        func(dir string) error { return os.Symlink(filepath.Base(dir), dir) },
		"a link to nothing":       func(dir string) error { return os.Symlink("nothing", dir) },
		"a link to other files":   func(dir string) error { return os.Symlink("../../../../u2/threads/t2/user-data/workspace", dir) },
		"a link to the host":      func(dir string) error { return os.Symlink(other.userData.host, dir) },
		"a file":                  func(dir string) error { return os.WriteFile(dir, []byte("kept"), 0o600) },
		"a file, a second time":   func(dir string) error { return os.WriteFile(dir, []byte("kept"), 0o600) },
		"nothing and then a file": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		for _, dir := range []string{"workspace", "outputs"} {
			l := acquire(t, p, "u1", "t1")
			put(t, l, Uploads+"/brought.txt", "brought")
			host := filepath.Join(l.userData.host, dir)
			require.NoError(t, os.RemoveAll(host))
			require.NoError(t, replace(host))
			before, err := os.Lstat(host)
			require.NoError(t, err)

			l = acquire(t, p, "u1", "t1")
			require.False(t, l.Fresh())
			require.Contains(t, l.Notice(), UserData+"/"+dir+".replaced-", name)
			info, err := os.Lstat(host)
			require.NoError(t, err)
			require.True(t, info.IsDir(), name)
			var kept bool
			aside, err := filepath.Glob(host + ".replaced-*")
			require.NoError(t, err)
			for _, a := range aside {
				after, err := os.Lstat(a)
				require.NoError(t, err)
				kept = kept || os.SameFile(before, after)
			}
			require.True(t, kept, name)
			put(t, l, UserData+"/"+dir+"/new.txt", "works")
			require.Equal(t, "brought", get(t, l, Uploads+"/brought.txt"))
			require.NoFileExists(t, filepath.Join(other.userData.host, "workspace/new.txt"))
			require.Empty(t, acquire(t, p, "u1", "t1").Notice())
		}
	}
	require.Equal(t, "of somebody else", get(t, other, "secret.txt"))
}

// The command that does it is told, and the next one works.
func TestReplacedByCommand(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	testReplacedByCommand(t, l)
}

func testReplacedByCommand(t *testing.T, l *local) {
	t.Helper()
	for _, line := range []string{
		"cd /mnt/user-data && rm -rf workspace && ln -s outputs workspace",
		"rm -rf /mnt/user-data/workspace && ln -s /mnt/user-data/outputs /mnt/user-data/workspace",
		"rm -rf /mnt/user-data/outputs /mnt/user-data/workspace; echo x > /mnt/user-data/outputs; echo y > /mnt/user-data/workspace",
	} {
		require.Contains(t, run(t, l, line).Text(), UserData+"/workspace.replaced-", line)
		r := run(t, l, "pwd; echo made > a.txt; cat a.txt; echo b > /mnt/user-data/outputs/b.txt")
		require.Empty(t, r.Notice)
		require.Equal(t, Workspace+"\nmade\n", r.Stdout)
		require.Equal(t, "made\n", get(t, l, "a.txt"))
		require.Equal(t, "b\n", get(t, l, Outputs+"/b.txt"))
	}
	require.Equal(t, "x\n", get(t, l, UserData+"/outputs.replaced-1"))
}
