package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCleanMakesOneSafeLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\t c":                 "a b c",
		"\x1b]0;owned\x07title":    "]0;owned title",
		"\x1b[2Jgone":              "[2Jgone",
		"\u009b31mred":             "31mred",
		"invoice\u202Efdp.exe":     "invoice fdp.exe",
		"日本語 ok":                   "日本語 ok",
		"":                         "",
		"  \r\n ":                  "",
		"x\u2066y\u2069z plain é́": "x y z plain é́",
	} {
		require.Equal(t, want, Clean(in))
	}
}

func TestCleanLinesKeepsLinesAndTabs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\n\tb[31mc", CleanLines("a\r\n\tb\x1b[31mc"))
}

func TestCleanNeverLetsControlsThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		require.False(t, strings.ContainsFunc(Clean(s), unicode.IsControl))
		require.Equal(t, Clean(s), Clean(Clean(s)))
	})
}

func TestColumnsCountsCells(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3, Columns("abc"))
	require.Equal(t, 6, Columns("日本語"))
	require.Equal(t, 1, Columns("e\u0301"))
}

func TestCutFitsAndKeepsWhatFits(t *testing.T) {
	t.Parallel()
	require.Equal(t, "abc", Cut("abc", 3))
	require.Equal(t, "ab…", Cut("abcd", 3))
	require.Equal(t, "日…", Cut("日本語", 4))
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(rapid.String().Draw(t, "s"))
		n := rapid.IntRange(1, 40).Draw(t, "columns")
		cut := Cut(s, n)
		require.LessOrEqual(t, Columns(cut), n)
		require.True(t, strings.HasPrefix(s, strings.TrimSuffix(cut, "…")))
	})
}

func TestTailIsTheLastLinesWrapped(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"two", "three"}, tail("one\ntwo\nthree\n", 10, 2))
	require.Equal(t, []string{"fghij", "k"}, tail("abcdefghijk", 5, 2))
	rapid.Check(t, func(t *rapid.T) {
		s := CleanLines(rapid.String().Draw(t, "s"))
		lines := tail(s, 10, 4)
		require.LessOrEqual(t, len(lines), 4)
		for _, line := range lines {
			require.LessOrEqual(t, Columns(line), 10)
		}
	})
}
