package sandbox

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func tree(t *testing.T, l *local, paths ...string) {
	t.Helper()
	for _, p := range paths {
		put(t, l, p, "content of "+p+"\n")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	tree(t, l, "b.txt", "a/one.md", "a/deep/er/x.md", "node_modules/x/y.js", "run.log", ".git/config", "z/.DS_Store")
	list, err := l.List(t.Context(), Workspace)
	require.NoError(t, err)
	require.Equal(t, []string{
		Workspace + "/a/", Workspace + "/a/deep/", Workspace + "/a/one.md", Workspace + "/b.txt", Workspace + "/z/",
	}, list.Paths)
	require.Equal(t, 5, list.Total)
	list, err = l.List(t.Context(), UserData)
	require.NoError(t, err)
	require.Contains(t, list.Paths, UserData+"/outputs/")
	list, err = l.List(t.Context(), "node_modules") // asked for by name
	require.NoError(t, err)
	require.Equal(t, []string{Workspace + "/node_modules/x/", Workspace + "/node_modules/x/y.js"}, list.Paths)
	_, err = l.List(t.Context(), "b.txt")
	require.ErrorIs(t, err, ErrNotDirectory)
	_, err = l.List(t.Context(), "gone")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = l.List(cancelled(t), "a")
	require.ErrorIs(t, err, cancelled(t).Err())
}

// I14, 10.4-10
func TestGlob(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	tree(t, l, "a.py", "src/b.py", "src/deep/c.py", "src/d.md", "dist/e.py", "-rf.py")
	ws := Workspace + "/"
	for _, c := range []struct {
		pattern string
		dirs    bool
		want    []string
	}{
		{"**/*.py", false, []string{ws + "-rf.py", ws + "a.py", ws + "src/b.py", ws + "src/deep/c.py"}},
		{"*.py", false, []string{ws + "-rf.py", ws + "a.py", ws + "src/b.py", ws + "src/deep/c.py"}},
		{"src/*.py", false, []string{ws + "src/b.py"}},
		{"./src/**", false, []string{ws + "src/b.py", ws + "src/d.md", ws + "src/deep/c.py"}},
		{"d*", true, []string{ws + "src/d.md", ws + "src/deep/"}},
		{"{a,src/b}.py", false, []string{ws + "a.py", ws + "src/b.py"}},
		{ws + "src/*.md", false, []string{ws + "src/d.md"}},
		{"*.txt", false, nil},
	} {
		got, err := l.Glob(t.Context(), Workspace, GlobOptions{Pattern: c.pattern, Dirs: c.dirs})
		require.NoError(t, err, c.pattern)
		require.Equal(t, c.want, got.Paths, c.pattern)
	}
	got, err := l.Glob(t.Context(), Workspace, GlobOptions{Pattern: "*.py", Max: 1})
	require.NoError(t, err)
	require.Len(t, got.Paths, 1)
	require.Equal(t, 4, got.Total)
	for _, pattern := range []string{"", "../*", "/etc/*", "a/../../x", "[", "{a", strings.Repeat("**/", 9), strings.Repeat("x", maxPattern+1)} {
		_, err := l.Glob(t.Context(), Workspace, GlobOptions{Pattern: pattern})
		require.ErrorIs(t, err, ErrPattern, pattern)
	}
	_, err = l.Glob(t.Context(), "a.py", GlobOptions{Pattern: "*"})
	require.ErrorIs(t, err, ErrNotDirectory)
}

// I14, 10.4-8, 10.4-9
func TestGrep(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "a.txt", "first (line)\nSecond -v line\r\nthird\n")
	put(t, l, "sub/b.md", "another LINE\nlast line without end")
	put(t, l, "skip.log", "line")
	put(t, l, "bin", "line\x00line")
	put(t, l, "big.txt", strings.Repeat("line\n", 200_001))
	put(t, l, "long.txt", strings.Repeat("x", 2001)+"line\nline here\n")
	for _, c := range []struct {
		path string
		o    GrepOptions
		want []string
	}{
		{".", GrepOptions{Pattern: "line"}, []string{"a.txt:1", "a.txt:2", "long.txt:2", "sub/b.md:1", "sub/b.md:2"}},
		{".", GrepOptions{Pattern: "line", Case: true}, []string{"a.txt:1", "a.txt:2", "long.txt:2", "sub/b.md:2"}},
		{".", GrepOptions{Pattern: "line", Glob: "*.md"}, []string{"sub/b.md:1", "sub/b.md:2"}},
		{".", GrepOptions{Pattern: "line", Glob: "**/*.txt"}, []string{"a.txt:1", "a.txt:2", "long.txt:2"}},
		{"a.txt", GrepOptions{Pattern: "^th.rd$"}, []string{"a.txt:3"}},
		{".", GrepOptions{Pattern: "("}, []string{"a.txt:1"}},
		{".", GrepOptions{Pattern: "(", Literal: true}, []string{"a.txt:1"}},
		{".", GrepOptions{Pattern: "-v"}, []string{"a.txt:2"}},
		{".", GrepOptions{Pattern: "(?<!x)y"}, nil},
		{"sub", GrepOptions{Pattern: "without END$"}, []string{"sub/b.md:2"}},
	} {
		got, err := l.Grep(t.Context(), c.path, c.o)
		require.NoError(t, err, "%+v", c)
		var hits []string
		for _, m := range got.Matches {
			hits = append(hits, fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Path, Workspace+"/"), m.Line))
		}
		require.Equal(t, c.want, hits, "%+v", c)
	}
	got, err := l.Grep(t.Context(), "big.txt", GrepOptions{Pattern: "line", Max: 3}) // named: searched whatever its size
	require.NoError(t, err)
	require.Len(t, got.Matches, 3)
	require.True(t, got.More)
	require.Empty(t, got.Literal)
	got, err = l.Grep(t.Context(), ".", GrepOptions{Pattern: "(?=x)"})
	require.NoError(t, err)
	require.Contains(t, got.Literal, "(?=")
	_, err = l.Grep(t.Context(), "gone", GrepOptions{Pattern: "x"})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = l.Grep(t.Context(), ".", GrepOptions{Pattern: "x", Glob: "["})
	require.ErrorIs(t, err, ErrPattern)
	_, err = l.Grep(cancelled(t), ".", GrepOptions{Pattern: "x"})
	require.ErrorIs(t, err, cancelled(t).Err())
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".git": true, "node_modules": true, "x.log": true, "x.egg-info": true, ".upload-1.part": true, "~": true, "a~": true,
		".write-0.tmp": true, "outputs": false, "login": false, "builder": false, "x.logs": false, "report.md": false,
	} {
		require.Equal(t, want, ignored.match(name), name)
	}
}

// Listings and searches find what is handed over, whatever its name, but not what
// tools fill for themselves.
func TestWhatIsHandedOverIsListed(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	for _, name := range []string{"dist/index.html", "build/run.log", "node_modules/x.js", ".tool-results/bash-1.log", ".write-1.tmp", ".env"} {
		put(t, l, Outputs+"/"+name, "needle")
	}
	put(t, l, "dist/index.html", "needle")
	put(t, l, ".env", "needle")
	list, err := l.List(t.Context(), Outputs)
	require.NoError(t, err)
	require.Equal(t, []string{
		Outputs + "/.env", Outputs + "/.tool-results/", Outputs + "/build/", Outputs + "/build/run.log", Outputs + "/dist/", Outputs + "/dist/index.html",
	}, list.Paths)
	found, err := l.Grep(t.Context(), UserData, GrepOptions{Pattern: "needle"})
	require.NoError(t, err)
	var files []string
	for _, m := range found.Matches {
		files = append(files, m.Path)
	}
	require.Equal(t, []string{Outputs + "/.env", Outputs + "/build/run.log", Outputs + "/dist/index.html"}, files)
	list, err = l.Glob(t.Context(), UserData, GlobOptions{Pattern: "**/*.html"})
	require.NoError(t, err)
	require.Equal(t, []string{Outputs + "/dist/index.html"}, list.Paths)
}
