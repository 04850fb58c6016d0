package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

const ws = sandbox.Workspace

// I10, 10.4-1, 10.4-2: ranges of read_file.
func TestReadFileRanges(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "one\ntwo\nthree\nfour\n")
	k.write("empty", "")
	k.write("blank", "a\n\n\nb")
	for _, c := range []struct {
		args a
		want string
	}{
		{a{"path": ws + "/f"}, "one\ntwo\nthree\nfour\n"},
		{a{"path": "f", "start_line": 3}, "three\nfour"},
		{a{"path": "f", "end_line": 2}, "one\ntwo"},
		{a{"path": "f", "start_line": 2, "end_line": 3}, "two\nthree"},
		{a{"path": "f", "start_line": "2", "end_line": 3.0}, "two\nthree"},
		{a{"path": "f", "start_line": nil, "end_line": nil}, "one\ntwo\nthree\nfour\n"},
		{a{"path": "f", "start_line": 0}, "(start_line must be >= 1)"},
		{a{"path": "f", "start_line": -4, "end_line": 2}, "(start_line must be >= 1)"},
		{a{"path": "f", "end_line": 0}, "(end_line must be >= 1)"},
		{a{"path": "f", "start_line": 5, "end_line": 3}, "(no lines in range: start_line 5 is behind end_line 3)"},
		{a{"path": "f", "start_line": 50}, "(start_line exceeds file length)"},
		{a{"path": "empty"}, "(empty)"},
		{a{"path": "empty", "start_line": 3}, "(empty)"},
		{a{"path": "blank", "start_line": 2, "end_line": 2}, "(empty lines)"},
	} {
		require.Equal(t, c.want, k.ok("read_file", c.args), "%v", c.args)
	}
}

// 10.4-3: the marker counts; it says where to go on.
func TestReadFileCap(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("long", strings.Repeat("日本語の行です。\n", 6667))
	text := k.ok("read_file", a{"path": "long"})
	require.LessOrEqual(t, utf8.RuneCountInString(text), 50_000)
	require.Greater(t, utf8.RuneCountInString(text), 49_800)
	require.Contains(t, text, fmt.Sprintf("of %d characters", 9*6667))
	next := 1 + strings.Count(text[:strings.LastIndex(text, "\n[truncated")], "\n")
	require.Contains(t, text, fmt.Sprintf("start_line=%d,", next))
	require.Equal(t, StatusPartial, k.call("read_file", a{"path": "long"}).Kwargs[KeyMeta].(Meta).Status)

	k.env.Limits = Limits{ReadChars: 200}
	require.LessOrEqual(t, utf8.RuneCountInString(k.ok("read_file", a{"path": "long", "start_line": 10})), 200)
	k.env.Limits = Limits{ReadChars: -1} // no limit is still no more than a result may have
	require.LessOrEqual(t, len(k.ok("read_file", a{"path": "long"})), maxResult)
}

func TestReadFileErrors(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("dir/f", "x")
	k.write("p.png", "\x89PNG\r\n\x1a\n\x00")
	k.write("x.xlsx", "PK\x03\x04\x00")
	k.fails("read_file", a{"path": "gone.md"}, "File not found: "+ws+"/gone.md")
	k.fails("read_file", a{"path": "dir"}, "Path is a directory, not a file: "+ws+"/dir")
	k.fails("read_file", a{"path": "p.png"}, "binary file (PNG image", "view_image") // 10.4-7
	k.fails("read_file", a{"path": "x.xlsx"}, "binary file", "no text of it")        // I11
	k.fails("read_file", a{"path": "/etc/passwd"}, "Permission denied reading file", "/etc/passwd")
	k.fails("read_file", a{"path": "/mnt/user-data-old/x"}, "Permission denied reading file") // I01
	k.fails("read_file", a{"path": "../x"}, "path traversal")
	k.fails("read_file", a{"path": ""}, "path is empty")
	require.NoError(t, os.Symlink("/etc", filepath.Join(k.root, "u1/threads/t1/user-data/workspace/etc"))) // 10.3-14
	k.fails("read_file", a{"path": "etc/passwd"}, "Permission denied reading file: "+ws+"/etc/passwd")
	require.Equal(t, "not_found", *k.call("read_file", a{"path": "gone.md"}).Kwargs[KeyMeta].(Meta).ErrorType)
}

// 10.5-2: a successful read, also of a range, marks what was seen.
func TestReadMark(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "one\ntwo\n")
	hash, err := k.env.Sandbox.Hash(t.Context(), "f")
	require.NoError(t, err)
	for _, path := range []string{"f", ws + "/./f"} {
		r := k.call("read_file", a{"path": path, "start_line": 2})
		require.Equal(t, thread.FileMark{Path: ws + "/f", Hash: hash}, r.Kwargs[thread.KeyReadMark])
	}
	require.NotContains(t, k.call("read_file", a{"path": "gone"}).Kwargs, thread.KeyReadMark)
}

// I13, 10.4-4: the limit is in bytes; append is the way round it.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	require.Equal(t, "OK", k.ok("write_file", a{"description": "d", "path": "/mnt/user-data/outputs/a/b.md", "content": "x"}))
	require.Equal(t, "OK", k.ok("write_file", a{"path": "/mnt/user-data/outputs/a/b.md", "content": "y", "append": true}))
	require.Equal(t, "xy", k.read("/mnt/user-data/outputs/a/b.md"))
	require.Equal(t, "OK", k.ok("write_file", a{"path": "e", "content": ""}))
	require.Empty(t, k.read("e"))

	require.Equal(t, "OK", k.ok("write_file", a{"path": "f", "content": strings.Repeat("x", 81_920)}))
	k.fails("write_file", a{"path": "f", "content": strings.Repeat("y", 81_921)}, "81921 bytes", "81920", "append=true")
	require.Len(t, k.read("f"), 81_920)
	require.Equal(t, "OK", k.ok("write_file", a{"path": "f", "content": strings.Repeat("z", 81_921), "append": true}))
	k.fails("write_file", a{"path": "cjk", "content": strings.Repeat("字", 30_000)}, "90000 bytes")
	k.fails("write_file", a{"path": "cjk", "content": strings.Repeat("x", 300_000)}, "300000 bytes")
	k.fails("read_file", a{"path": "cjk"}, "File not found")
	k.env.Limits.WriteBytes = -1
	require.Equal(t, "OK", k.ok("write_file", a{"path": "f", "content": strings.Repeat("y", 300_000)}))

	k.fails("write_file", a{"path": ws, "content": "x"}, "Path is a directory, not a file: "+ws)
	k.fails("write_file", a{"path": "/mnt/skills/public/x/SKILL.md", "content": "x"}, "Permission denied writing file") // 10.3-13
	k.fails("write_file", a{"path": "/mnt/user-data/x", "content": "x"}, "Permission denied writing file", ws)
	k.fails("write_file", a{"path": "a/../../x", "content": "x"}, "path traversal")
	k.fails("write_file", a{"path": "f/g", "content": "x"}, "Failed writing file "+ws+"/f/g")
}

// B14: a call without content does not empty the file.
func TestWriteFileWithoutContent(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("report.md", "long work")
	k.fails("write_file", a{"path": "report.md"}, "write_file", `missing required argument "content"`)
	k.fails("write_file", a{"path": "report.md", "content": nil}, `"content"`)
	k.fails("write_file", `{"path": "report.md", "content": "unfinis`, "must be a JSON object") // B04
	require.Equal(t, "long work", k.read("report.md"))
}

func TestLimitsFromEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"": 80 << 10, "abc": 80 << 10, "0": -1, "-5": -1, " 100 ": 100} { // 10.4-5
		l := Limits{}.WithEnv(func(name string) string {
			require.Equal(t, "DEERFLOW_WRITE_FILE_MAX_BYTES", name)
			return value
		})
		require.Equal(t, want, l.withDefaults().WriteBytes, value)
	}
}

func TestStrReplace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "a b a b\n")
	k.fails("str_replace", a{"path": "f", "old_str": "a", "new_str": "c"}, "appears 2 times in file: f", "Nothing was changed")
	require.Equal(t, "a b a b\n", k.read("f"))
	k.fails("str_replace", a{"path": "f", "old_str": "x", "new_str": "c"}, "String to replace not found in file: f")
	require.Equal(t, "OK", k.ok("str_replace", a{"path": "f", "old_str": "a b\n", "new_str": "end\n"}))
	require.Equal(t, "a b end\n", k.read("f"))
	require.Equal(t, "OK", k.ok("str_replace", a{"path": "f", "old_str": " ", "new_str": "", "replace_all": "true"}))
	require.Equal(t, "abend\n", k.read("f"))
	require.Equal(t, "OK", k.ok("str_replace", a{"path": "f", "old_str": "", "new_str": "x"}))
	require.Equal(t, "abend\n", k.read("f"))

	k.write("empty", "") // 10.4-2
	k.fails("str_replace", a{"path": "empty", "old_str": "x", "new_str": "y"}, "not found in file")
	require.Equal(t, "OK", k.ok("str_replace", a{"path": "empty", "old_str": "", "new_str": "y"}))
	k.fails("str_replace", a{"path": "gone", "old_str": "x", "new_str": "y"}, "File not found")
	k.fails("str_replace", a{"path": "gone", "old_str": "", "new_str": "y"}, "File not found")
	k.fails("str_replace", a{"path": "f", "old_str": "x"}, `"new_str"`)

	k.write("crlf", "one\r\ntwo\r\n") // a model never sees the \r
	require.Equal(t, "OK", k.ok("str_replace", a{"path": "crlf", "old_str": "one\ntwo", "new_str": "1\n2\n3"}))
	f, _, err := k.env.Sandbox.Open(t.Context(), "crlf")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	buf := make([]byte, 100)
	n, err := f.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "1\r\n2\r\n3\r\n", string(buf[:n]))
}

// 10.4-17
func TestStrReplaceConcurrently(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "one two")
	var wg sync.WaitGroup
	for i, word := range []string{"one", "two"} {
		env := k.env
		env.MessageID = fmt.Sprint("m", i)
		wg.Go(func() {
			tool, _ := k.set.Get("str_replace")
			r, err := Run(context.WithoutCancel(t.Context()), tool, Call{Env: env, Args: []byte(fmt.Sprintf(`{"path":"f","old_str":%q,"new_str":"X"}`, word))})
			if err != nil || r.Error {
				t.Errorf("%v %s", err, r.Text)
			}
		})
	}
	wg.Wait()
	require.Equal(t, "X X", k.read("f"))
}

// M03: the same call run again has no second effect; the next call has one.
func TestWriteTwice(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "a")
	for _, id := range []string{"run-1", "run-1", "run-2", "run-1", "run-2"} {
		k.env.MessageID = id
		require.Equal(t, "OK", k.ok("write_file", a{"path": "f", "content": "+", "append": true}))
	}
	require.Equal(t, "a++", k.read("f"))
	k.env.MessageID = "run-3"
	for range 2 {
		require.Equal(t, "OK", k.ok("str_replace", a{"path": "f", "old_str": "a", "new_str": "aa"}))
	}
	require.Equal(t, "aa++", k.read("f"))
}

// 10.5: a file can be changed only as it was last read.
func TestReadBeforeWrite(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.env.CheckRead = true
	read := func() {
		m := k.call("read_file", a{"path": "f", "start_line": 1, "end_line": 1}).Kwargs[thread.KeyReadMark].(thread.FileMark)
		require.Equal(t, ws+"/f", m.Path)
		k.env.Seen = m.Hash
	}
	id := 0
	next := func() { id++; k.env.MessageID = fmt.Sprint("m", id) }
	next()
	require.Equal(t, "OK", k.ok("write_file", a{"path": "f", "content": "1\n2"}), "a new file")
	for _, c := range []struct {
		tool string
		args a
	}{
		{"write_file", a{"path": "f", "content": "x"}},
		{"write_file", a{"path": ws + "//f", "content": "x", "append": true}},
		{"str_replace", a{"path": "./f", "old_str": "1", "new_str": "1+"}},
	} {
		next()
		k.fails(c.tool, c.args, c.tool, "read_file")
		read()
		require.Equal(t, "OK", k.ok(c.tool, c.args))
		require.Equal(t, "OK", k.ok(c.tool, c.args), "the same call again")
		next()
		k.fails(c.tool, c.args, "has not been read since")
		k.write("f", fmt.Sprint("1\n2\n", id))
	}
	k.write("f", "1\n2")

	// 10.5-4: of two appends after one read, one lands
	read()
	var wg sync.WaitGroup
	failed := make(chan bool, 2)
	for i := range 2 {
		env := k.env
		env.MessageID = fmt.Sprint("parallel", i)
		wg.Go(func() {
			tool, _ := k.set.Get("write_file")
			r, err := Run(context.WithoutCancel(t.Context()), tool, Call{Env: env, Args: []byte(`{"path":"f","content":"+","append":true}`)})
			if err != nil {
				t.Error(err)
			}
			failed <- r.Error
		})
	}
	wg.Wait()
	first, second := <-failed, <-failed
	require.NotEqual(t, first, second)
	require.Equal(t, "1\n2+", k.read("f"))

	// what cannot be read cannot be asked for, either
	k.write("p.png", "\x89PNG\r\n\x1a\n\x00\x00")
	k.env.Seen, k.env.MessageID = "", "binary"
	require.Equal(t, "OK", k.ok("write_file", a{"path": "p.png", "content": "text now"}))
}

func TestLs(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	require.Equal(t, "(empty)", k.ok("ls", a{"path": ws}))
	k.write("node_modules/x.js", "x") // 10.4-12
	k.write("a.log", "x")
	require.Equal(t, "(empty)", k.ok("ls", a{"path": ws}))
	k.write("b/c.md", "x")
	require.Equal(t, ws+"/b/\n"+ws+"/b/c.md", k.ok("ls", a{"path": "."}))
	k.fails("ls", a{"path": "gone"}, "Directory not found: "+ws+"/gone")
	k.fails("ls", a{"path": "b/c.md"}, "Path is not a directory: "+ws+"/b/c.md")
	k.fails("ls", a{"path": "/etc"}, "Permission denied", "/etc")
	for i := range 400 {
		k.write(fmt.Sprintf("many/%s-%d.txt", strings.Repeat("x", 60), i), "")
	}
	text := k.ok("ls", a{"path": "many"})
	require.LessOrEqual(t, utf8.RuneCountInString(text), 20_000)
	require.Contains(t, text, "showing first")
}

func TestGlobTool(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("a.py", "")
	k.write("src/b.py", "")
	require.Equal(t, "Found 2 paths under "+ws+"\n1. "+ws+"/a.py\n2. "+ws+"/src/b.py", k.ok("glob", a{"pattern": "**/*.py", "path": ws})) // 10.4-10
	require.Equal(t, "No files matched under "+ws, k.ok("glob", a{"pattern": "*.md", "path": "."}))
	require.Contains(t, k.ok("glob", a{"pattern": "src*", "path": ws, "include_dirs": true}), ws+"/src/")
	text := k.ok("glob", a{"pattern": "*.py", "path": ws, "max_results": 1})
	require.Contains(t, text, "Found 2 paths under "+ws+" (showing first 1)")
	require.NotContains(t, text, "b.py")
	k.fails("glob", a{"pattern": "../*", "path": ws}, "pattern", "path traversal") // I14
	k.fails("glob", a{"pattern": "/etc/*", "path": ws}, "relative")
	k.fails("glob", a{"pattern": "*", "path": "gone"}, "Directory not found")
	k.fails("glob", a{"pattern": "*", "path": "a.py"}, "Path is not a directory")
}

func TestAtMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, configured, want int }{ // 10.4-11
		{5000, 200, 200}, {5000, 2000, 1000}, {0, 200, 200}, {-1, 200, 200}, {10, 200, 10}, {0, -1, 1000},
	} {
		require.Equal(t, c.want, atMost(c.asked, c.configured, 1000), "%+v", c)
	}
}

// I14, 10.4-8, 10.4-9
func TestGrepTool(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("a.txt", "f(x)\n  -v flag\n"+strings.Repeat("long ", 100)+"\n")
	require.Equal(t, "Found 1 matches under "+ws+"\n"+ws+"/a.txt:2: -v flag", k.ok("grep", a{"pattern": "-V", "path": ws}))
	require.Equal(t, "No matches found under "+ws+"/a.txt", k.ok("grep", a{"pattern": "-V", "path": "a.txt", "case_sensitive": true}))
	text := k.ok("grep", a{"pattern": "(", "path": ws})
	require.Contains(t, text, "a.txt:1: f(x)")
	require.Contains(t, text, "searched for literally")
	text = k.ok("grep", a{"pattern": "(", "path": "a.txt", "literal": true})
	require.NotContains(t, text, "literally")
	text = k.ok("grep", a{"pattern": "long", "path": "a.txt"})
	require.True(t, strings.HasSuffix(text, "..."), text)
	require.Len(t, text[strings.Index(text, ":3: ")+4:], maxGrepLine)
	k.fails("grep", a{"pattern": "x", "path": "gone"}, "Directory not found")
	k.fails("grep", a{"pattern": "", "path": ws}, `"pattern"`)
	k.write("many", strings.Repeat("hit\n", 2000))
	text = k.ok("grep", a{"pattern": "hit", "path": ws, "max_results": 9999})
	require.Contains(t, text, "(showing first 100)")
	require.Equal(t, 100, strings.Count(text, ": hit"))
	k.env.Limits.GrepMatches = -1
	require.Equal(t, 500, strings.Count(k.ok("grep", a{"pattern": "hit", "path": "many"}), ": hit"))
}
