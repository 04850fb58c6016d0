package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Virtual paths are compared by segments (I01), ".." is refused, other spellings
// lead to the same one.
func TestVirtual(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	for _, c := range []struct {
		path, want string
		err        error
	}{
		{"/mnt/user-data", UserData, nil},
		{"/mnt/user-data/", UserData, nil},
		{"/mnt/user-data/workspace/a//b/./c", Workspace + "/a/b/c", nil},
		{"notes.md", Workspace + "/notes.md", nil},
		{"./a/b", Workspace + "/a/b", nil},
		{".", Workspace, nil},
		{l.host(Outputs + "/r.md"), Outputs + "/r.md", nil},
		{"/mnt/user-data-backup/x", "", ErrOutside},
		{"/mnt/user-data2", "", ErrOutside},
		{"/mnt/user-data.bak/x", "", ErrOutside},
		{"/etc/passwd", "", ErrOutside},
		{"/", "", ErrOutside},
		{l.userData.host + "-old/x", "", ErrOutside},
		{"../x", "", ErrTraversal},
		{"/mnt/user-data/workspace/../../../etc/x", "", ErrTraversal},
		{"a/..", "", ErrTraversal},
		{"..a/b..", Workspace + "/..a/b..", nil},
		{"", "", errEmptyPath},
		{"a\x00b", "", errNULPath},
	} {
		got, err := l.Virtual(c.path)
		require.ErrorIs(t, err, c.err, c.path)
		require.Equal(t, c.want, got, c.path)
	}
	_, err := l.Virtual("/etc/passwd")
	require.ErrorIs(t, err, fs.ErrPermission)
}

// Whatever the path, the answer is an error or a path inside.
func TestVirtualStaysInside(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"mnt", "user-data", "workspace", "..", ".", "", "a", "user-data-old"}), 0, 8).Draw(t, "parts")
		path := rapid.SampledFrom([]string{"", "/"}).Draw(t, "root") + strings.Join(parts, "/")
		got, err := l.Virtual(path)
		if err == nil && !within(got, UserData) {
			t.Fatalf("%q leads to %q", path, got)
		}
	})
}

// 10.3-1, 10.3-2, 10.3-3: only a whole root in command text is translated, and only
// one that is mounted.
func TestRewriteCommand(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	host := l.userData.host
	for _, c := range []struct{ command, want string }{
		{"cat /mnt/user-data-backup/x", ""},
		{"cat /mnt/user-data2/x", ""},
		{"cat /mnt/user-data.bak", ""},
		{"cat /mnt/user-data_old/x", ""},
		{"cat /srv/mnt/user-data/x", ""},
		{"cat $HOME/mnt/user-data/x", ""},
		{"cat /mnt/skills/public/x/SKILL.md", ""},
		{"ls /mnt/user-data && pwd", "ls HOST && pwd"},
		{"PYTHONPATH=/mnt/user-data:/opt x", "PYTHONPATH=HOST:/opt x"},
		{`echo "/mnt/user-data, done"`, `echo "HOST, done"`},
		{"(ls /mnt/user-data)", "(ls HOST)"},
		{"ls /mnt/user-data>x", "ls HOST>x"},
		{"cat '/mnt/user-data/workspace/a b'", "cat 'HOST/workspace/a b'"},
		{"gcc -I/mnt/user-data/workspace/i", "gcc -IHOST/workspace/i"},
		{"curl -d @/mnt/user-data/uploads/f", "curl -d @HOST/uploads/f"},
		{"cat /mnt/user-data/a /mnt/user-data/b", "cat HOST/a HOST/b"},
	} {
		want := strings.ReplaceAll(c.want, "HOST", host)
		if want == "" {
			want = c.command
		}
		require.Equal(t, want, l.paths.rewriteCommand(c.command))
	}
}

// 10.3-16: paths of the host turn virtual; a sibling with the same beginning
// does not become part of the sandbox.
func TestMask(t *testing.T) {
	t.Parallel()
	mounted := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.Mkdir(mounted, 0o750))
	l := newBox(t, func(o *LocalOptions) {
		o.Mounts = []Mount{{Virtual: "/mnt/data", Host: mounted}, {Virtual: "/mnt/data/user", Host: o.Root}}
		require.NoError(t, os.MkdirAll(o.Root, 0o750))
	})
	data, root := l.userData.host, l.provider.root
	for _, c := range []struct{ text, want string }{
		{`File "` + data + `/workspace/a.py", line 1`, `File "/mnt/user-data/workspace/a.py", line 1`},
		{data, "/mnt/user-data"},
		{"in " + data + ".", "in /mnt/user-data."},
		{"file://" + data + "/x", "file:///mnt/user-data/x"},
		{mounted + "/x", "/mnt/data/x"},
		{mounted + "-old/x", mounted + "-old/x"},
		{root + "/other/threads/t2/user-data/x", "/mnt/data/user/other/threads/t2/user-data/x"},
		{root + "-old/x", root + "-old/x"},
		{"nothing here", "nothing here"},
		{data + ":" + data + "/b", "/mnt/user-data:/mnt/user-data/b"},
	} {
		require.Equal(t, c.want, l.Mask(c.text))
	}

	plain := newBox(t, nil)
	sibling := plain.userData.host + "-old/x"
	require.Equal(t, "[host]/u1/threads/t1/user-data-old/x", plain.Mask(sibling))
}

// A mount that cannot be used is left out; the most specific one decides what
// can be written (10.3-15).
func TestMounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "out"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.csv"), []byte("1"), 0o600))
	l := newBox(t, func(o *LocalOptions) {
		o.Mounts = []Mount{
			{Virtual: "/mnt/data", Host: dir, ReadOnly: true},
			{Virtual: "/mnt/data/out", Host: filepath.Join(dir, "out")},
			{Virtual: "/mnt/user-data/workspace/x", Host: dir},
			{Virtual: "/mnt", Host: dir},
			{Virtual: "data", Host: dir},
			{Virtual: "/mnt/gone", Host: filepath.Join(dir, "gone")},
			{Virtual: "/mnt/file", Host: filepath.Join(dir, "in.csv")},
			{Virtual: "/mnt/rel", Host: "rel"},
		}
	})
	require.Len(t, l.provider.mounts, 2)
	require.Equal(t, "1", get(t, l, "/mnt/data/in.csv"))
	put(t, l, "/mnt/data/out/r.md", "x")
	_, err := l.WriteFile(t.Context(), "/mnt/data/in.csv", strings.NewReader("2"), WriteOptions{})
	require.ErrorIs(t, err, ErrReadOnly)
	noHost(t, l, err.Error())
	_, err = l.WriteFile(t.Context(), "/mnt/skills/public/x/SKILL.md", strings.NewReader("2"), WriteOptions{})
	require.ErrorIs(t, err, fs.ErrPermission)
}
