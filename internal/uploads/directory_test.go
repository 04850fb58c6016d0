package uploads

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func opened(t *testing.T) (*Directory, string) {
	t.Helper()
	users := t.TempDir()
	d, err := Open(users, "u", "t", true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, filepath.Join(users, "u", "threads", "t", "user-data", "uploads")
}

func listed(t *testing.T, d *Directory) []string {
	t.Helper()
	files, err := d.Files()
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func add(t *testing.T, d *Directory, name, content string) fs.FileInfo {
	t.Helper()
	info, err := d.Add(t.Context(), name, strings.NewReader(content), 1<<20)
	require.NoError(t, err)
	return info
}

func TestOpen(t *testing.T) {
	t.Parallel()
	users := t.TempDir()
	_, err := Open(users, "u", "t", false)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Open(filepath.Join(users, "none"), "u", "t", false)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, bad := range [][2]string{{"../u", "t"}, {"u", "../t"}, {"u", ""}, {"", "t"}} {
		_, err = Open(users, bad[0], bad[1], true)
		require.ErrorIs(t, err, ErrElsewhere)
	}
	// I02: a link in its place is none.
	dir := filepath.Join(users, "u", "threads", "t", "user-data")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "workspace"), 0o755))
	require.NoError(t, os.Symlink("workspace", filepath.Join(dir, "uploads")))
	for _, create := range []bool{false, true} {
		_, err = Open(users, "u", "t", create)
		require.ErrorIs(t, err, ErrElsewhere)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	d, dir := opened(t)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Link(outside, filepath.Join(dir, "hard.txt")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir.txt"), 0o755))
	for name, want := range map[string]string{
		"link.txt": "link_1.txt", "hard.txt": "hard_1.txt", "dir.txt": "dir_1.txt", "new.txt": "new.txt", "re\u0301.txt": "re\u0301.txt", // 10.17-8
	} {
		require.Equal(t, want, add(t, d, name, "mine").Name())
	}
	require.Equal(t, "r\u00e9_1.txt", add(t, d, "r\u00e9.txt", "x").Name(), "it looks the same as one that is there")
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))

	before := listed(t, d)
	_, err = d.Add(t.Context(), "big", strings.NewReader("12345"), 4)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = d.Add(t.Context(), "cut", iotest.ErrReader(iotest.ErrTimeout), 4)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Equal(t, before, listed(t, d))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, isStaging(e.Name()), "nothing is left of what failed")
	}
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	d, dir := opened(t)
	add(t, d, "a.txt", "x")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".upload-1.part"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	require.Equal(t, []string{"a.txt"}, listed(t, d))
	for _, name := range []string{"sub", "link"} {
		_, err := d.Open(name)
		require.Error(t, err)
	}
	_, err := d.Open("../../../../../secret")
	require.Error(t, err)
	require.Error(t, d.Remove("sub"))
	require.NoError(t, d.Remove("link"), "the link goes, not what it leads to")
	require.ErrorIs(t, d.Remove("none"), fs.ErrNotExist)
	require.Equal(t, []string{"a.txt"}, listed(t, d))

	add(t, d, "re\u0301.txt", "x")
	found, err := d.Find("r\u00e9.txt")
	require.NoError(t, err)
	require.Equal(t, "re\u0301.txt", found)
	_, err = d.Find("none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The text of a document is told by its first line; I07: a file of the user's own
// with the same stem is not taken for it.
func TestTexts(t *testing.T) {
	t.Parallel()
	d, dir := opened(t)
	text := func(document string) string {
		name, err := d.TextOf(document)
		require.NoError(t, err)
		return name
	}
	pdf := add(t, d, "a.pdf", "1234")
	add(t, d, "a.md", "# mine\n")
	add(t, d, "empty.md", "")
	require.Empty(t, text("a.pdf"))
	name, err := d.AddText(t.Context(), pdf, "a.md", "# Text\n")
	require.NoError(t, err)
	require.Equal(t, "a_1.md", name)
	require.Equal(t, "a_1.md", text("a.pdf"))
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	require.Equal(t, "<!-- text of \"a.pdf\", 4 bytes -->\n\n# Text\n", string(data))

	name, err = d.AddText(t.Context(), pdf, "b.md", "# Text\n")
	require.NoError(t, err)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a_1.md"), old, old))
	require.Equal(t, name, text("a.pdf"), "the younger of two")

	require.NoError(t, d.Remove("a.pdf"))
	add(t, d, "a.pdf", "another document")
	require.Empty(t, text("a.pdf"), "a text of the one before")
}

func TestMark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name, size := rapid.String().Draw(t, "name"), rapid.Int64Min(0).Draw(t, "size")
		mark := Mark(name, size)
		line, _, _ := strings.Cut(mark, "\n")
		require.Equal(t, 1, strings.Count(mark, "-->"))
		require.Less(t, strings.Index(mark, "-->"), strings.Index(mark, "\n"))
		got, n, ok := marked(line)
		require.True(t, ok, mark)
		require.Equal(t, strings.ToValidUTF8(name, "\uFFFD"), got)
		require.Equal(t, size, n)
	})
	for _, line := range []string{"", "# Title", "<!-- text of -->", `<!-- text of "a", x bytes -->`, `<!-- text of a, 1 bytes -->`, `<!-- text of "a" bytes -->`} {
		_, _, ok := marked(line)
		require.False(t, ok, line)
	}
}

func TestTextNames(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"a.pdf": "a.md", "report.v2.docx": "report.v2.md", ".xls": ".md", strings.Repeat("长", 84) + ".pdf": strings.Repeat("长", 84) + ".md",
		strings.Repeat("x", 254) + ".d": strings.Repeat("x", 252) + ".md",
	} {
		require.Equal(t, want, TextName(document))
	}
	d, _ := opened(t)
	add(t, d, "a.md", "mine")
	add(t, d, "b_1.md", "mine")
	names, err := d.TextNames([]string{"a.docx", "a.pdf", "b.pdf", "b.pptx", "c.xls"})
	require.NoError(t, err)
	require.Equal(t, []string{"a_1.md", "a_2.md", "b.md", "b_2.md", "c.md"}, names)
}
