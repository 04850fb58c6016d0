package export

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-fonts/dejavu/dejavusans"
	"github.com/stretchr/testify/require"

	"deerflow/internal/evidence"
)

var day = time.Date(2026, 1, 25, 9, 0, 0, 0, time.UTC)

const document = `# Deer

Deer run fast[citation:A *study* of deer](https://a.org/x?b=1&c=2), says **Ann** & ~~Bob~~. See [b](https://b.org).

1. one
2. two
   - nested [x] 

- [x] done
- [ ] open

> quoted ` + "`code`" + `

| Name | What it is |
|------|-----------:|
| a | one |
| b | a cell with [a link](https://c.org) |

` + "```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```" + `

Text with a note[^1].

---

[^1]: The note.
`

func report(text string) *Report {
	return &Report{
		Title: "Deer report", Markdown: text, References: []Reference{
			{Title: "A [study]", URL: "https://a.org/x?b=1&c=2", Grade: evidence.Fetched, At: day},
			{URL: "https://b.org", Grade: evidence.Found, At: day},
			{URL: "https://g.org", Grade: evidence.Given},
			{URL: "https://n.org/(x)>", Grade: evidence.Unknown},
		},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	text := report(document).Text()
	require.True(t, strings.HasPrefix(text, document), "the document is as it was")
	require.Contains(t, text, "\n## Evidence\n\n- [A \\[study\\]](<https://a.org/x?b=1&c=2>): read on 2026-01-25\n- [https://b.org](<https://b.org>): found by a search on 2026-01-25, not read\n")
	require.Contains(t, text, "- [https://g.org](<https://g.org>): named by the user\n- [https://n.org/(x)\\>](<https://n.org/(x)%3E>): not verified")
	require.Equal(t, "x\n", (&Report{Markdown: "x\n\n"}).Text())
}

func TestHTML(t *testing.T) {
	t.Parallel()
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	require.NoError(t, err)
	r := report(document + `
<script>alert(1)</script><img src=x onerror=alert(2)> <input type=text autofocus onfocus=alert(6)> <b onclick="x()">raw</b>

![chart](chart.png) ![far](https://evil.org/t.gif) ![gone](/mnt/user-data/outputs/gone.png) ![text](notes.txt) [run](javascript:alert(3)) [file](report.md) [data](data:text/html,x)
`)
	r.Title = `</title><script>alert(4)</script>`
	r.Dir = "/mnt/user-data/outputs"
	r.Image = func(virtual string) ([]byte, error) {
		switch virtual {
		case "/mnt/user-data/outputs/chart.png":
			return png, nil
		case "/mnt/user-data/outputs/notes.txt":
			return []byte("<svg onload=alert(5)>"), nil
		}
		return nil, os.ErrNotExist
	}
	data, err := r.HTML()
	require.NoError(t, err)
	page := string(data)
	for _, want := range []string{
		"<h1", "<table>", "<del>Bob</del>", `class="citation"`, ">A <em>study</em> of deer</a>", `href="https://a.org/x?b=1&amp;c=2"`,
		`src="data:image/png;base64,iVBOR`, "default-src 'none'", "<code>", "The note.", `alt="far"`, "read on 2026-01-25",
		`<li><input checked="" disabled="" type="checkbox"> done</li>`, `<li><input disabled="" type="checkbox"> open</li>`,
	} {
		require.Contains(t, page, want)
	}
	for _, never := range []string{
		"<script", "onerror", "onfocus", "type=text", `type="text"`, "onclick", "onload", "javascript:", "evil.org", "citation:A", `src="http`, `href="report.md"`, "data:text/html", "<link", "@import", "url(",
	} {
		require.NotContains(t, page, never)
	}
	_, err = report(strings.Repeat("x", MaxMarkdown)).HTML()
	require.ErrorIs(t, err, ErrTooLong)
}

// textOf finds the streams of a PDF, as far as they are compressed text.
func streams(t *testing.T, pdf []byte) string {
	t.Helper()
	var all strings.Builder
	for _, m := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(pdf, -1) {
		r, err := zlib.NewReader(bytes.NewReader(m[1]))
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(r)
		all.Write(data)
	}
	return all.String()
}

func TestPDF(t *testing.T) {
	t.Parallel()
	out, err := report(document+"\nLatin žluťoučký, Ελληνικά, кириллица → ≤ ½.\n").PDF(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(out.Data, []byte("%PDF-")))
	require.Zero(t, out.Missing, out.Examples)
	require.Equal(t, 1, out.Pages)
	require.Contains(t, string(out.Data), "/URI (https://a.org/x?b=1&c=2)", "links can be followed")
	require.NotContains(t, string(out.Data), "/JavaScript")
	require.NotEmpty(t, streams(t, out.Data))

	long, err := report(strings.Repeat("A line of a long report that goes on and on, with some words in it.\n\n", 400)).PDF(t.Context(), nil)
	require.NoError(t, err)
	require.Greater(t, long.Pages, 5)
	_, err = report(strings.Repeat("x\n\n", 50_000)).PDF(t.Context(), nil)
	require.ErrorIs(t, err, ErrTooLong)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = report(document).PDF(gone, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// What no font has is said, never shown as something else (no fonts of this
// machine have these).
func TestPDFSaysWhatItCannotShow(t *testing.T) {
	t.Parallel()
	text := "Private \U000F0001\U000F0001 and Arabic سلام."
	out, err := (&Report{Title: "T", Markdown: text}).PDF(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 6, out.Missing)
	require.Contains(t, out.Examples, "U+0633")
	clean, err := (&Report{Title: "T", Markdown: "Private and."}).PDF(t.Context(), nil)
	require.NoError(t, err)
	require.Greater(t, len(streams(t, out.Data)), len(streams(t, clean.Data))+500, "the page itself says it")
}

// What the text of a PDF cannot name is a box, in print and for whoever searches.
func TestPDFNamesNoCharacterWrongly(t *testing.T) {
	t.Parallel()
	const text = "# 😀 Deer\n\n- [x] 𝐁old `𝐂` ✓\n\n| 😀 | b |\n|---|---|\n| c | [😎](https://a.org) |\n"
	out, err := (&Report{Title: "T 😀", Markdown: text}).PDF(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 5, out.Missing, out.Examples)
	require.Equal(t, "U+1D401 U+1D402 U+1F600 U+1F60E", out.Examples)
	names := regexp.MustCompile(`<[0-9A-F]{4}><[0-9A-F]{4}><([0-9A-F]+)>`).FindAllSubmatch(out.Data, -1)
	require.NotEmpty(t, names)
	var all []string
	for _, name := range names {
		require.Len(t, name[1], 4, "%s", name[0])
		all = append(all, string(name[1]))
	}
	require.Contains(t, all, "25AF")
	require.Contains(t, all, "2713")
	require.Contains(t, string(out.Data), "/Title <FEFF0054002025AF>")

	out, err = (&Report{Markdown: "one 😀"}).PDF(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, out.Missing)
}

func TestPDFOfOddDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "#", "- \n- \n", "| a |\n|---|\n", "|a|b|\n|-|-|\n|" + strings.Repeat("long ", 4000) + "|x|\n", "```\n" + strings.Repeat("x", 3000) + "\n```",
		strings.Repeat("> ", 60) + "deep", strings.Repeat("- a\n  ", 40), strings.Repeat("W", 5000), "a\u200b\u00adb\ufe0f", "![](x.png)", "[](https://a.org)",
		"1. " + strings.Repeat("漢字", 500), strings.Repeat(">", 50_000), strings.Repeat("[a](", 10_000), strings.Repeat("*_a", 10_000), "<div>\n\nx</div>", "a<br>b  \nc",
	} {
		out, err := (&Report{Markdown: text}).PDF(t.Context(), nil)
		require.NoError(t, err, "%.40q", text)
		require.NotZero(t, out.Pages)
	}
}

// collection packs a font as the only one of a collection.
func collection(font []byte) []byte {
	head := []byte("ttcf\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x10")
	moved := bytes.Clone(font)
	n := int(moved[4])<<8 | int(moved[5])
	for i := range n {
		at := 12 + 16*i + 8
		offset := uint32(moved[at])<<24 | uint32(moved[at+1])<<16 | uint32(moved[at+2])<<8 | uint32(moved[at+3])
		offset += 16
		moved[at], moved[at+1], moved[at+2], moved[at+3] = byte(offset>>24), byte(offset>>16), byte(offset>>8), byte(offset)
	}
	return append(head, moved...)
}

func TestFonts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return file
	}
	use := func(file string) error {
		missing := map[rune]bool{'A': true}
		found, bad := fallbacks([]string{file}, missing)
		if len(bad) > 0 {
			return bad[0]
		}
		require.Len(t, found, 1)
		require.Empty(t, missing)
		return nil
	}
	require.NoError(t, use(put("a.ttf", dejavusans.TTF)))
	require.NoError(t, use(put("a.ttc", collection(dejavusans.TTF))))
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("no font at all, really"), "otto": append([]byte("OTTO"), dejavusans.TTF[4:]...), "cut": dejavusans.TTF[:5000],
		"ttc": []byte("ttcf\x00\x01\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"),
	} {
		require.ErrorContains(t, use(put(name, data)), filepath.Join(dir, name))
	}
	require.ErrorIs(t, use(filepath.Join(dir, "gone.ttf")), os.ErrNotExist)
	missing := map[rune]bool{'A': true, '\U000F0001': true}
	found, bad := fallbacks([]string{filepath.Join(dir, "text"), filepath.Join(dir, "a.ttc")}, missing)
	require.NotEmpty(t, found)
	require.Len(t, bad, 1)
	require.Equal(t, map[rune]bool{'\U000F0001': true}, missing)
}
