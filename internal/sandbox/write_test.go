package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func replace(from, to string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if !bytes.Contains(old, []byte(from)) {
			return nil, errors.New("not found")
		}
		return bytes.ReplaceAll(old, []byte(from), []byte(to)), nil
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	r := put(t, l, "a/b/c.md", "one")
	require.Equal(t, WriteResult{Path: Workspace + "/a/b/c.md", After: hashOf([]byte("one")), Size: 3}, r)
	r, err := l.WriteFile(t.Context(), "a/b/c.md", strings.NewReader(" two"), WriteOptions{Append: true})
	require.NoError(t, err)
	require.Equal(t, hashOf([]byte("one")), r.Before)
	require.Equal(t, "one two", get(t, l, "a/b/c.md"))
	put(t, l, "a/b/c.md", "three")
	require.Equal(t, "three", get(t, l, "a/b/c.md"))
	_, err = l.WriteFile(t.Context(), "new.md", strings.NewReader("x"), WriteOptions{Append: true})
	require.NoError(t, err)
	require.Equal(t, "x", get(t, l, "new.md"))

	// the mode of a script survives, and nothing is left beside it
	script := l.host(Workspace + "/run.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	put(t, l, "run.sh", "#!/bin/sh\necho\n")
	info, err := os.Stat(script)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode().Perm())
	entries, err := os.ReadDir(l.host(Workspace))
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestWriteRefusals(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "dir/f", "x")
	for path, want := range map[string]error{
		"/mnt/user-data":         fs.ErrPermission, // 10.3-13
		"/mnt/user-data/f":       fs.ErrPermission,
		"/mnt/user-data/other/f": fs.ErrPermission,
		"/mnt/skills/public/x":   fs.ErrPermission,
		"/etc/x":                 fs.ErrPermission,
		"dir":                    ErrIsDirectory,
		".":                      ErrIsDirectory,
		"dir/f/below":            ErrNotDirectory,
		"../x":                   ErrTraversal,
	} {
		_, err := l.WriteFile(t.Context(), path, strings.NewReader("x"), WriteOptions{})
		require.ErrorIs(t, err, want, path)
		noHost(t, l, err.Error())
	}
	_, err := l.WriteFile(cancelled(t), "f", strings.NewReader("x"), WriteOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = l.WriteFile(t.Context(), "f", failingReader{}, WriteOptions{})
	require.Error(t, err)
	_, err = l.Stat(t.Context(), "f")
	require.ErrorIs(t, err, fs.ErrNotExist)
	denied := errors.New("denied")
	_, err = l.WriteFile(t.Context(), "dir/f", strings.NewReader("y"), WriteOptions{Check: func(hash string) error {
		require.Equal(t, hashOf([]byte("x")), hash)
		return denied
	}})
	require.Equal(t, denied, err)
	require.Equal(t, "x", get(t, l, "dir/f"))
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("cut off") }

// 10.4-17: edits of one file at once all survive.
func TestEditConcurrently(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	put(t, l, "f", text.String())
	mustSymlink(t, "f", l.host(Workspace+"/link"))
	var wg sync.WaitGroup
	for i := range 20 {
		path := []string{"f", "link"}[i%2] // two names, one lock
		wg.Go(func() {
			_, err := l.Edit(t.Context(), path, replace(fmt.Sprintf("<%d>", i), "done"), WriteOptions{Key: fmt.Sprint("call-", i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, strings.Repeat("done\n", 20), get(t, l, "f"))
	require.Empty(t, l.provider.locks.held)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	_, err := l.Edit(t.Context(), "gone", replace("a", "b"), WriteOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	put(t, l, "f", "x")
	own := errors.New("own")
	_, err = l.Edit(t.Context(), "f", func([]byte) ([]byte, error) { return nil, own }, WriteOptions{})
	require.Equal(t, own, err)
	put(t, l, "png", "\x89PNG\r\n\x1a\n")
	_, err = l.Edit(t.Context(), "png", replace("P", "Q"), WriteOptions{})
	require.ErrorIs(t, err, ErrBinary)

	// files keep their encoding, and bytes that are in none
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("第一季度的报告")
	require.NoError(t, err)
	wantGBK, err := simplifiedchinese.GBK.NewEncoder().String("第二季度的报告")
	require.NoError(t, err)
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	wide, err := utf16.NewEncoder().String("第一 report")
	require.NoError(t, err)
	wantWide, err := utf16.NewEncoder().String("第二 report")
	require.NoError(t, err)
	for _, c := range []struct{ old, from, to, want string }{
		{gbk, "一", "二", wantGBK},
		{wide, "一", "二", wantWide},
		{"\xEF\xBB\xBFab", "a", "c", "\xEF\xBB\xBFcb"},
		{"caf\xe9 x", "x", "y", "caf\xe9 y"},
	} {
		put(t, l, "e", c.old)
		_, err := l.Edit(t.Context(), "e", replace(c.from, c.to), WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, c.want, get(t, l, "e"))
	}
}

// crashVariable makes this test binary a process that writes and dies:
// "<root> <point> <kind> <key>".
const crashVariable = "SANDBOX_TEST_CRASH"

// writeAndDie runs a keyed write in another process, which ends at a point of it
// without any clean-up, as by kill -9.
func writeAndDie(t *testing.T, l *local, point, kind, key string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), strings.Join([]string{crashVariable + "=" + l.provider.root, point, kind, key}, " "))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 42, exit.ExitCode(), "%s", out)
}

// crashChild is the process that dies.
func crashChild(args string) error {
	part := strings.Fields(args)
	p, err := NewLocal(LocalOptions{Root: part[0]})
	if err != nil {
		return err
	}
	p.crash = func(at string) {
		if at == part[1] {
			os.Exit(42)
		}
	}
	s, err := p.Acquire(context.Background(), "u1", "t1")
	if err != nil {
		return err
	}
	_, err = writeKind(context.Background(), s.(*local), part[2], part[3])
	if err == nil && part[1] == "returned" {
		os.Exit(42)
	}
	return err
}

// writeKind is a write of one kind to the file f.
func writeKind(ctx context.Context, l *local, kind, key string) (WriteResult, error) {
	o := WriteOptions{Key: key, Append: kind == "append"}
	if kind != "edit" {
		return l.WriteFile(ctx, "f", strings.NewReader("+"), o)
	}
	return l.Edit(ctx, "f", func(old []byte) ([]byte, error) {
		if !bytes.Contains(old, []byte("a a a")) {
			return nil, errors.New("gone")
		}
		return bytes.Replace(old, []byte("a"), []byte("b"), 1), nil
	}, o)
}

// M03: a write that is interrupted at any point happens once when it is run
// again with its key.
func TestWriteAgainAfterCrash(t *testing.T) {
	t.Parallel()
	wants := map[string]string{"append": "a a a+", "overwrite": "+", "create": "+", "edit": "b a a"}
	for _, point := range []string{"written", "intended", "renamed", "returned"} {
		for kind, want := range wants {
			t.Run(point+" "+kind, func(t *testing.T) {
				t.Parallel()
				l := newBox(t, nil)
				if kind != "create" {
					put(t, l, "f", "a a a")
				}
				writeAndDie(t, l, point, kind, "run-1-7")
				r, err := writeKind(t.Context(), l, kind, "run-1-7")
				require.NoError(t, err)
				require.Equal(t, want, get(t, l, "f"))
				require.Equal(t, point == "renamed" || point == "returned", r.Repeated)
				require.Equal(t, hashOf([]byte(want)), r.After)
				again, err := writeKind(t.Context(), l, kind, "run-1-7")
				require.NoError(t, err)
				require.True(t, again.Repeated)
				require.Equal(t, want, get(t, l, "f"))
				if point != "written" { // nothing knows of that file yet, and no listing shows it
					entries, err := os.ReadDir(l.host(Workspace))
					require.NoError(t, err)
					require.Len(t, entries, 1)
				}
				list, err := l.List(t.Context(), Workspace)
				require.NoError(t, err)
				require.Equal(t, []string{Workspace + "/f"}, list.Paths)
			})
		}
	}
}

// A call was interrupted and another one wrote the file before it ran again:
// both happen once.
func TestOtherWriteAfterCrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"intended", "renamed"} {
		l := newBox(t, nil)
		put(t, l, "f", "a")
		writeAndDie(t, l, point, "append", "1")
		for _, key := range []string{"2", "1", "2"} {
			_, err := writeKind(t.Context(), l, "append", key)
			require.NoError(t, err)
		}
		require.Equal(t, "a++", get(t, l, "f"))
	}
}

// When somebody else changed the file in between, nobody can tell: the call says
// so and changes nothing.
func TestWriteAgainAfterForeignChange(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "f", "a")
	writeAndDie(t, l, "intended", "append", "k")
	require.NoError(t, os.WriteFile(l.host(Workspace+"/f"), []byte("changed by a command"), 0o600))
	_, err := writeKind(t.Context(), l, "append", "k")
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, "changed by a command", get(t, l, "f"))
}

// The journal is out of the user's sight and does not grow for ever.
func TestJournalIsPruned(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	dir := filepath.Join(filepath.Dir(l.userData.host), journalDir)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	old := time.Now().Add(-2 * journalAge)
	for i := range journalKeep + 10 {
		name := filepath.Join(dir, fmt.Sprintf("%032d%s", i, finished))
		require.NoError(t, os.WriteFile(name, []byte("{}"), 0o600))
		require.NoError(t, os.Chtimes(name, old, old))
	}
	_, err := l.WriteFile(t.Context(), "f", strings.NewReader("x"), WriteOptions{Key: "k"})
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	list, err := l.Glob(t.Context(), UserData, GlobOptions{Pattern: "**"})
	require.NoError(t, err)
	require.Equal(t, []string{Workspace + "/f"}, list.Paths)
}

// A reader sees the old file or the new one, never a part.
func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	contents := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)}
	put(t, l, "f", contents[0])
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		for i := range 40 {
			if _, err := l.WriteFile(context.WithoutCancel(ctx), "f", strings.NewReader(contents[i%2]), WriteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	for ctx.Err() == nil {
		text := get(t, l, "f")
		require.True(t, text == contents[0] || text == contents[1])
	}
	wg.Wait()
}
