package synopsis

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func options() Options {
	return Options{Tool: "bash", Path: "/mnt/user-data/outputs/.tool-results/bash-0123456789ab.log", Head: 2000, Tail: 1000, Max: 30_000}
}

// numbered is a text of lines that differ.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, kind string
		tells            []string
	}{
		{"an object", `{"b":{"c":[{"d":1},{"d":2}]},"a":"x"}`, "json", []string{"object with 2 keys", "- a: text", "- b.c: list of 2", "- b.c[].d: number"}},
		{"a list", `[1,2,3]`, "json", []string{"Title: list of 3"}},
		{"many keys", "{" + strings.TrimSuffix(numbered(20, `"k%02d":null,`), ",\n") + "}", "json", []string{"k11: null", "*: 8 more keys"}},
		{"broken JSON", `{"a":`, "text", nil},
		{"comma-separated", "id,name,price\n" + numbered(9, "%d,x,2"), "csv", []string{"3 columns, 9 rows", "- name"}},
		{"tab-separated", "id\tname\n" + numbered(9, "%d\tx"), "tsv", []string{"2 columns"}},
		{"too few rows", "id,name\n1,a\n2,b\n", "text", nil},
		{"rows of unequal width", "id,name\n" + numbered(9, "%d,a,b"), "text", nil},
		{"prose with commas", "Hello, world\n" + numbered(9, "this, that %d"), "text", nil},
		{"a script with tabs", "if x; then\n" + numbered(9, "\tdo\tit %d"), "text", nil},
		{"YAML", "version: 3\nservices:\n  web: {}\nnames:\n  - a\n", "yaml", []string{"- services: mapping", "- names: list", "- version: value"}},
		{"a log with colons", numbered(9, "INFO: step %d"), "text", nil},
		{"a log with other words", "INFO: a\nERROR: b\nDEBUG: c\n", "text", []string{"Notable lines:\n- line 2: ERROR: b"}},
		{"XML", "<?xml version=\"1.0\"?><list><item/><item/><end/></list>", "xml", []string{"Title: root list", "- item: 2 times"}},
		{"a page", "<html><body><p>x</p></body></html>", "text", nil},
		{"broken XML", "<a><b></a>", "text", nil},
		{"Go", "package x\n\nimport \"fmt\"\n\nfunc A() {}\nfunc B() {}\n", "code", []string{"2 imports, 2 definitions", "- line 5: func A() {}"}},
		{"Python", "import os\nfrom a import b\n\nclass X:\n    def y(self):\n        pass\n", "code", []string{"- line 4: class X:"}},
		{"headings", "# One\n\ntext\n\n## Two\n", "text with headings", []string{"Title: One", "- line 5: ## Two"}},
		{"prose", "Nothing to see.", "text", nil},
		{"bytes", strings.Repeat("\x00\x01ab", 100), "binary", nil},
		{"broken characters", strings.Repeat("\xff\xfe", 100), "binary", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := Of(tc.text, options())
			require.Contains(t, got, "Kind: "+tc.kind+", ")
			for _, part := range tc.tells {
				require.Contains(t, got, part)
			}
			require.Contains(t, got, options().Path)
			require.Contains(t, got, "start_line")
		})
	}
}

func TestTheSample(t *testing.T) {
	t.Parallel()
	got := Of("short", options())
	require.Equal(t, 1, strings.Count(got, "short"), "a short text is not told twice")
	long := Of(numbered(3000, "line number %d"), options())
	require.Contains(t, long, "[The result of bash has 49890 characters (about 12473 tokens).")
	require.Contains(t, long, "Sample:\nline number 0\n")
	require.Contains(t, long, "\n...\nline number ")
	require.Contains(t, long, "line number 2999\n")
	for _, l := range strings.Split(long, "\n") {
		if strings.HasPrefix(l, "line") {
			require.Regexp(t, `^line number \d+$`, l, "cut between lines")
		}
	}
	require.Less(t, utf8.RuneCountInString(long), 3500)
}

func TestD12OneLongLine(t *testing.T) {
	t.Parallel()
	text := numbered(200, "step %d ok") + strings.Repeat(`{"a":"端"},`, 50_000)
	got := Clip(text, "bash", Limits{Max: 20_000, Head: 8000, Tail: 3000})
	require.LessOrEqual(t, utf8.RuneCountInString(got), 20_000)
	require.True(t, utf8.ValidString(got))
	require.True(t, strings.HasPrefix(got, "step 0 ok\n"))
	require.Contains(t, got, "characters of the result of bash are left out")
}

func TestClip(t *testing.T) {
	t.Parallel()
	limits := Limits{Max: 1000, Head: 300, Tail: 100}
	exact := strings.Repeat("端", 1000)
	require.Equal(t, exact, Clip(exact, "ls", limits), "exactly the limit passes")
	got := Clip(exact+"x", "ls", limits)
	require.LessOrEqual(t, utf8.RuneCountInString(got), 1000)
	require.Contains(t, got, "[... 601 characters of the result of ls are left out here")
	require.Equal(t, "端端", Clip(exact, "ls", Limits{Max: 2, Head: 8000, Tail: 3000}), "no room for a note")
	require.Empty(t, Clip(exact, "ls", Limits{}))
}

func FuzzBounds(f *testing.F) {
	f.Add("plain", "bash", 100, 10, 5)
	f.Add(strings.Repeat("端\n", 200), "ls", 250, 100, 100)
	f.Add(`{"a":{"b":[1,2]}}`, "x", 20, 3, 3)
	f.Add("a: 1\nb:\n  - c\n", "x", 400, 3, 3)
	f.Add("id,b\n1,2\n1,2\n1,2\n1,2\n1,2\n", "x", 400, 3, 3)
	f.Add("<a><b/></a>\xff", "x", 400, -3, 1<<40)
	f.Fuzz(func(t *testing.T, text, tool string, limit, head, tail int) {
		limit, head, tail = limit%5000, head%5000, tail%5000
		clipped := Clip(text, tool, Limits{Max: limit, Head: head, Tail: tail})
		require.LessOrEqual(t, utf8.RuneCountInString(clipped), max(limit, 0))
		told := Of(text, Options{Tool: tool, Path: "/p", Head: head, Tail: tail, Max: limit})
		require.LessOrEqual(t, utf8.RuneCountInString(told), max(limit, 0))
		if utf8.ValidString(text) && utf8.ValidString(tool) {
			require.True(t, utf8.ValidString(clipped))
			require.True(t, utf8.ValidString(told))
		}
	})
}
