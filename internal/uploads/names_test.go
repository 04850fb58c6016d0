package uploads

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	const report = "季度报告（终稿）.xlsx"
	mojibake := ""
	for _, b := range []byte(report) {
		mojibake += string(rune(b))
	}
	for raw, want := range map[string]string{
		"a.txt":                              "a.txt",
		"../../etc/passwd":                   "passwd",
		`C:\Users\me\a.txt`:                  "",
		"..":                                 "",
		".":                                  "",
		"":                                   "",
		"a/":                                 "",
		"  spaced .txt ":                     "spaced .txt",
		"nul\x00l\nine\x7f.txt":              "nulline.txt",
		"safe\u202Etxt.exe":                  "safetxt.exe",
		report:                               report,
		mojibake:                             report,
		"r\xe9sum\xe9.pdf":                   "résumé.pdf",
		"résumé.pdf":                         "résumé.pdf",
		"re\u0301sume\u0301.pdf":             "re\u0301sume\u0301.pdf",
		"👩\u200d💻.png":                       "👩\u200d💻.png",
		".upload-1.part":                     "_.upload-1.part",
		".env":                               ".env",
		"-rf":                                "-rf",
		strings.Repeat("季", 90):              strings.Repeat("季", 85),
		strings.Repeat("季", 90) + ".xlsx":    strings.Repeat("季", 83) + ".xlsx",
		"a." + strings.Repeat("x", 300):      "a." + strings.Repeat("x", 253),
		strings.Repeat("y", 300) + ".tar.gz": strings.Repeat("y", 252) + ".gz",
		strings.Repeat("z", 255) + ".with a space.": strings.Repeat("z", 254) + ".",
	} {
		require.Equal(t, want, CleanName(raw), "%q", raw)
	}
	require.Equal(t, "a_1.txt", numbered("a.txt", 1))
	require.Equal(t, ".env_2", numbered(".env", 2))
	require.Equal(t, "noext_3", numbered("noext", 3))
	require.Len(t, numbered(strings.Repeat("x", 251)+".txt", 12), 255)
	require.Equal(t, SameName("re\u0301sume\u0301"), SameName("résumé"))
}

func TestCleanNameProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "raw")
		checkName(t, raw)
	})
}

// fataler is a testing.T, a testing.F or a rapid.T.
type fataler interface {
	Errorf(format string, args ...any)
	FailNow()
}

func checkName(t fataler, raw string) {
	name := CleanName(raw)
	require.LessOrEqual(t, len(name), maxName)
	require.True(t, utf8.ValidString(name))
	require.NotContains(t, name, "/")
	require.NotContains(t, name, `\`)
	require.NotContains(t, name, "\x00")
	require.NotContains(t, []string{".", ".."}, name)
	require.False(t, isStaging(name))
	if name == "" {
		return
	}
	again := numbered(name, 7)
	require.LessOrEqual(t, len(again), maxName)
	require.True(t, utf8.ValidString(again))
	require.NotEqual(t, name, again)
}

func FuzzCleanName(f *testing.F) {
	f.Add("../a\x00.txt")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, raw string) { checkName(t, raw) })
}
