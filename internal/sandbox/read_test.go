package sandbox

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
)

// I10: the right slice, whichever end is named.
func TestReadRanges(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "f", "one\ntwo\nthree\nfour\n")
	put(t, l, "crlf", "one\r\ntwo\r\nthree")
	put(t, l, "empty", "")
	for _, c := range []struct {
		path       string
		start, end int
		want       string
		past       bool
	}{
		{"f", 0, 0, "one\ntwo\nthree\nfour\n", false},
		{"f", 2, 3, "two\nthree", false},
		{"f", 3, 0, "three\nfour", false},
		{"f", 0, 2, "one\ntwo", false},
		{"f", 4, 99, "four", false},
		{"f", 5, 0, "", true},
		{"f", 99, 100, "", true},
		{"crlf", 1, 2, "one\ntwo", false},
		{"crlf", 0, 0, "one\ntwo\nthree", false},
		{"empty", 0, 0, "", false},
	} {
		r, err := l.ReadFile(t.Context(), c.path, ReadOptions{Start: c.start, End: c.end})
		require.NoError(t, err)
		require.Equal(t, c.want, r.Text, "%+v", c)
		require.Equal(t, c.past, r.PastEnd, "%+v", c)
		require.Equal(t, hashOf([]byte(get(t, l, c.path))), r.Hash, "the hash is of the whole file")
		require.False(t, r.Cut)
	}
}

// A range is what splitting the text into lines would give.
func TestReadRangeProperty(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "日本", "\n", "\n\n", strings.Repeat("x", 40_000)}), 0, 12).Draw(rt, "text"), "")
		start, end := rapid.IntRange(1, 8).Draw(rt, "start"), rapid.IntRange(1, 8).Draw(rt, "end")
		limit := rapid.SampledFrom([]int{0, 1, 5, 50_000}).Draw(rt, "limit")
		put(t, l, "p", text)
		r, err := l.ReadFile(t.Context(), "p", ReadOptions{Start: start, End: end, MaxChars: limit})
		require.NoError(t, err)
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		from, to := min(start-1, len(lines)), min(end, len(lines))
		want := []rune(strings.Join(lines[from:max(from, to)], ""))
		require.Equal(t, len(want), r.Chars)
		if limit > 0 && len(want) > limit {
			require.True(t, r.Cut)
			want = want[:limit]
		}
		require.Equal(t, strings.TrimSuffix(string(want), "\n"), r.Text)
	})
}

// I10: a file of 1 GB is read with ranges in constant memory.
// It does not run beside other tests, since it counts what is allocated.
func TestReadHugeFile(t *testing.T) {
	l := newBox(t, nil)
	head := strings.Repeat("a line of text\n", 10_000)
	name := l.host(Workspace + "/huge.txt")
	require.NoError(t, os.WriteFile(name, []byte(head), 0o600))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\nlast line\n"), 1<<30) // a hole of zeros before it
	require.NoError(t, err)
	require.NoError(t, f.Close())

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := l.ReadFile(t.Context(), "huge.txt", ReadOptions{Start: 2, End: 3, MaxChars: 50_000})
	require.NoError(t, err)
	require.Equal(t, "a line of text\na line of text", r.Text)
	require.Empty(t, r.Hash)
	r, err = l.ReadFile(t.Context(), "huge.txt", ReadOptions{MaxChars: 50_000})
	require.NoError(t, err)
	require.Len(t, r.Text, 50_000)
	require.True(t, r.Cut)
	require.Equal(t, -1, r.Chars)
	r, err = l.ReadFile(t.Context(), "huge.txt", ReadOptions{Start: 10_002, MaxChars: 50_000})
	require.NoError(t, err)
	require.Equal(t, "last line", r.Text)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "all that was allocated on the way")
}

// I11: text is decoded, what is no text is named, nothing invalid comes out.
func TestReadEncodings(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	encode := func(s string, enc interface{ Bytes([]byte) ([]byte, error) }) string {
		b, err := enc.Bytes([]byte(s))
		require.NoError(t, err)
		return string(b)
	}
	chinese := "第一季度的报告\n销售额增长百分之十\n"
	for name, c := range map[string]struct{ data, want, encoding string }{
		"utf8":    {chinese, chinese, "UTF-8"},
		"bom":     {"\xEF\xBB\xBFhello\n", "hello\n", "UTF-8 with BOM"},
		"utf16le": {encode(chinese, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()), chinese, "UTF-16LE"},
		"utf16be": {encode(chinese, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()), chinese, "UTF-16BE"},
		"bare16":  {encode("# Title\nplain\n", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder()), "# Title\nplain\n", "UTF-16LE"},
		"gbk":     {encode(chinese, simplifiedchinese.GBK.NewEncoder()), chinese, "GB18030"},
		"bad":     {"caf\xe9 and more\n", "caf\uFFFD and more\n", "UTF-8"},
		"bad2":    {"caf\xe9s and more\n", "caf\uFFFDs and more\n", "UTF-8"},
		"ansi":    {"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n", "UTF-8"},
		"long":    {strings.Repeat("日本語", 40_000), strings.Repeat("日本語", 40_000), "UTF-8"},
	} {
		put(t, l, name, c.data)
		r, err := l.ReadFile(t.Context(), name, ReadOptions{})
		require.NoError(t, err, name)
		require.Equal(t, c.want, r.Text, name)
		require.Equal(t, c.encoding, r.Encoding, name)
	}
	for name, data := range map[string]string{
		"PNG image":                      "\x89PNG\r\n\x1a\n\x00\x00",
		"ZIP archive or Office document": "PK\x03\x04aaaa",
		"PDF document":                   "%PDF-1.7\n",
		"WebP image":                     "RIFFxxxxWEBPVP8 ",
		"binary data":                    "abc\x00def",
	} {
		put(t, l, "b", data)
		_, err := l.ReadFile(t.Context(), "b", ReadOptions{})
		require.ErrorIs(t, err, ErrBinary)
		require.ErrorContains(t, err, name)
	}
	put(t, l, "b", strings.Repeat("\x01\x02\xff", 100))
	_, err := l.ReadFile(t.Context(), "b", ReadOptions{})
	require.ErrorIs(t, err, ErrBinary)
}

func FuzzReadFile(f *testing.F) {
	for _, seed := range []string{"a\nb", "\xff\xfea\x00", "\xb5\xda\xd2\xbb\xbc\xbe", "\xe6\x97", "\r\n\r", "\xEF\xBB\xBF"} {
		f.Add([]byte(seed))
	}
	p, err := NewLocal(LocalOptions{Root: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	s, err := p.Acquire(f.Context(), "u", "t")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := s.(*local)
		put(t, l, "f", string(data))
		r, err := l.ReadFile(t.Context(), "f", ReadOptions{Start: 1, MaxChars: 10})
		if err != nil {
			require.ErrorIs(t, err, ErrBinary)
			return
		}
		require.True(t, utf8.ValidString(r.Text))
		require.LessOrEqual(t, len([]rune(r.Text)), 10)
	})
}

// Reading stops with the context, and errors name the virtual path only.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "dir/f", "x")
	_, err := l.ReadFile(t.Context(), "gone/f", ReadOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, Workspace+"/gone/f")
	noHost(t, l, err.Error())
	_, err = l.ReadFile(t.Context(), "dir", ReadOptions{})
	require.ErrorIs(t, err, ErrIsDirectory)
	_, err = l.ReadFile(t.Context(), "dir/f/x", ReadOptions{})
	require.ErrorIs(t, err, ErrNotDirectory)
	_, err = l.ReadFile(cancelled(t), "dir/f", ReadOptions{})
	require.ErrorIs(t, err, cancelled(t).Err())
	hash, err := l.Hash(t.Context(), "dir/f")
	require.NoError(t, err)
	require.Equal(t, hashOf([]byte("x")), hash)
}
