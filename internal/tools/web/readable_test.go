package web

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// Pages that are made to cost time are read, or refused, before a person would
// give up.
func TestReadableIsBounded(t *testing.T) {
	t.Parallel()
	repeat := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"paragraphs":  repeat("<p>Some words, and more words.</p>", 15_000),
		"links":       repeat(`<a href="/x?a=1">link</a> `, 10_000),
		"tables":      repeat("<table><tr><td>1</td></tr></table>", 12_000),
		"wide table":  "<table>" + repeat("<tr>"+repeat("<td>1</td>", 200)+"</tr>", 200) + "</table>",
		"spans":       repeat("<table><tr><td colspan=999999999 rowspan=999999999>1<td>2</table>", 9_000),
		"one span":    "<table><tr><td colspan=999999999999999999999>1</table>",
		"tall spans":  "<table>" + repeat("<tr><td rowspan=1000>1<td colspan=1000>2", 9_000) + "</table>",
		"ragged":      "<table><tr>" + repeat("<td>1", 20_000) + repeat("<tr><td>1", 9_000) + "</table>",
		"one cell":    "<table><tr><td>" + repeat("word ", 50_000) + repeat("<tr><td>1", 9_000) + "</table>",
		"nested":      repeat(repeat("<div>", 200)+"text"+repeat("</div>", 200), 50),
		"nested list": repeat("<ul><li>a", 250),
		"classes":     repeat(`<div class="comment sidebar ad menu">text, text, text</div>`, 10_000),
		"one line":    "<p>" + repeat("word ", 200_000),
		"brackets":    repeat("<", 300_000),
		"too large":   repeat("<p>"+repeat("word ", 1000)+"</p>", 1_000),
		"too many":    repeat("<p>x</p>", maxElements+1),
		"attributes":  "<p " + repeat("a='1' ", 300_000) + ">text",
		"entities":    "<p>" + repeat("&amp;lt;&nbsp;", 200_000),
	} {
		begun := time.Now()
		article, err := Readable(t.Context(), []byte(page), "https://a.example/")
		took := time.Since(begun)
		t.Logf("%s: %s, %d bytes of text, error %v", name, took, len(article.Text), err)
		require.Less(t, took, 60*time.Second, name)
	}
}

func TestBoundTables(t *testing.T) {
	t.Parallel()
	small := "<table><tr><th>Day<th>Height<tr><td rowspan=2>1<td>3.2<tr><td>3.4</table>"
	article, err := Readable(t.Context(), []byte("<title>T</title>"+small+"<p>a</p><table><tr><td>2<td rowspan='-5' colspan=300>x</table>"), "")
	require.NoError(t, err)
	require.Contains(t, article.Text, "| Day | Height |\n|---|---|\n| 1 | 3.2 |\n|  | 3.4 |")
	_, wide, _ := strings.Cut(article.Text, "| 2 | x |")
	require.Equal(t, 1+maxSpan, strings.Count(wide, "|---"))

	article, err = Readable(t.Context(), []byte(small+"<table>"+strings.Repeat("<tr><td>cell<td colspan=90>x", 9000)+"</table>"+small), "")
	require.NoError(t, err)
	require.NotContains(t, article.Text, "| cell")
	require.Equal(t, 9000, strings.Count(article.Text, "cell"))
	require.Equal(t, 2, strings.Count(article.Text, "| Day | Height |"), "the others stay tables")
}

// FuzzReadable looks for pages that make it panic, take long, or give a text that is
// none.
func FuzzReadable(f *testing.F) {
	for _, seed := range []string{article, ddgNothing, "<p>x", "<title></title><base href='//x'><a href='::'>", "<table><tr><td colspan=9999999>", "<math><mi>", "<svg><title>t</title>"} {
		f.Add([]byte(seed), "https://a.example/b?c")
	}
	f.Fuzz(func(t *testing.T, page []byte, address string) {
		begun := time.Now()
		got, err := Readable(t.Context(), bytes.ToValidUTF8(page, []byte("?")), address)
		if took := time.Since(begun); took > 20*time.Second {
			t.Fatalf("%d bytes took %s", len(page), took)
		}
		if err != nil {
			return
		}
		if got.Title == "" || !utf8.ValidString(got.Text) || strings.TrimSpace(got.Text) != got.Text {
			t.Fatalf("%q %q", got.Title, got.Text)
		}
		if root, err := html.Parse(bytes.NewReader(page)); err == nil {
			ddgHits(root)
		}
	})
}

// FuzzGuard looks for addresses that pass as text and lead inside.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1/", "http://0x7f.1", "http://[::ffff:7f00:1]/", "http://１２７.1/", "https://a.example:443/b", "http://localhost", "http://[64:ff9b::7f00:1]/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		c, dialled := guarded(t, names{})
		_, err := newHTTP(Options{Client: c}).Fetch(t.Context(), address)
		if err == nil {
			t.Fatal("nobody is there")
		}
		for _, to := range dialled() {
			if u, err := url.Parse("http://" + to); err != nil || SafeImageURL(u.String()) == "" {
				t.Fatalf("%q led to %s", address, to)
			}
		}
	})
}
