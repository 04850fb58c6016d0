package web

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// shapes are pages that nest, each with some lines of text at the deepest place.
var shapes = map[string]func(depth, lines int) string{
	"quotations":    func(d, n int) string { return strings.Repeat("<blockquote>", d) + strings.Repeat("x<br>", n) },
	"lists":         func(d, n int) string { return strings.Repeat("<ul><li>", d/2) + strings.Repeat("x<br>", n) },
	"numbers":       func(d, n int) string { return strings.Repeat("<ol><li>a", d/2) + strings.Repeat("<p>x", n) },
	"tables":        func(d, n int) string { return strings.Repeat("<table><td>", d/4) + strings.Repeat("x<br>", n) },
	"code":          func(d, n int) string { return strings.Repeat("<blockquote>", d) + "<pre>" + strings.Repeat("x\n", n) },
	"blocks":        func(d, n int) string { return strings.Repeat("<div>", d) + strings.Repeat("<p>some words", n) },
	"inline":        func(d, n int) string { return strings.Repeat("<span>", d) + strings.Repeat("some words ", n) },
	"never closed":  func(d, n int) string { return "<p>" + different(d) + strings.Repeat("</p><p>x", n) },
	"opened inside": func(d, n int) string { return strings.Repeat("<b>x<i>y", n) },
}

// different are elements of form that the parser takes for different ones.
func different(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b id=%d>", i)
	}
	return b.String()
}

// measured sums up the work of a tree as it is, and finds its bounds.
func measured(n *html.Node, depth, nesting int) (work, deepest, nested int) {
	deepest, nested = depth, nesting
	for child := range n.ChildNodes() {
		in := nesting
		if child.Type == html.ElementNode && isNested(child.DataAtom) {
			in++
		}
		w, d, k := measured(child, depth+1, in)
		work, deepest, nested = work+w+(nodeWork+len(child.Data))*(depth+1), max(deepest, d), max(nested, k)
	}
	return work, deepest, nested
}

func TestTreeOfAPageIsBounded(t *testing.T) {
	t.Parallel()
	for name, page := range shapes {
		for _, size := range []struct{ depth, lines int }{{10, 50}, {400, 50}, {400, 20_000}, {90, 100_000}} {
			source := page(size.depth, size.lines)
			root, err := parseHTML([]byte(source))
			require.NoError(t, err, name)
			work, deepest, nested := measured(root, 0, 0)
			// The names of elements are not counted, and the last text is cut, not left out.
			require.Less(t, work, 2*maxWork, "%s %v", name, size)
			require.LessOrEqual(t, deepest, maxDepth+2, "%s %v", name, size)
			require.LessOrEqual(t, nested, maxNesting, "%s %v", name, size)
			nodes := 0
			for range root.Descendants() {
				nodes++
			}
			require.Less(t, nodes, len(source)+2*maxReopened, "%s %v", name, size)
		}
	}
}

// What is written of a page grows with the page, not with how deep it is nested.
func TestReadableGrowsWithThePage(t *testing.T) {
	t.Parallel()
	for name, page := range shapes {
		for _, lines := range []int{500, 5_000} {
			source := page(400, lines)
			article, err := Readable(t.Context(), []byte(source), "https://a.example/")
			require.NoError(t, err, name)
			require.LessOrEqual(t, len(article.Text), len(source)+lines*8*maxNesting+1000, "%s, %d lines", name, lines)
			require.NotEmpty(t, article.Text, name)
			if name != "code" {
				require.GreaterOrEqual(t, strings.Count(article.Text, "x")+strings.Count(article.Text, "words"), lines, "%s: nothing is lost", name)
			}
		}
	}
}

func TestBoundTreeKeepsTheText(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<div>", 300)
	article, err := Readable(t.Context(), []byte(deep+"<p>first</p><p>second <a href='/l'>link</a></p>"+strings.Repeat("</div>", 300)+"<p>last"), "https://a.example/")
	require.NoError(t, err)
	require.Regexp(t, `(?s)^first\s*\n\s*second \[link\]\(https://a\.example/l\)\s*\n+last$`, article.Text)

	usual := "<blockquote><p>said</p><ul><li>a<ul><li>b</li></ul></li></ul></blockquote><p><b>x <i>y</i></b></p>"
	article, err = Readable(t.Context(), []byte(usual), "https://a.example/")
	require.NoError(t, err)
	require.Equal(t, "> said\n> \n> - a\n>   \n>   - b\n\n**x *y***", article.Text)
}

func TestFewFormats(t *testing.T) {
	t.Parallel()
	for _, same := range []string{
		"", "<p>a <B>b</b> <A HREF='x'>c</A></p>", "<!doctype html><script>'<b><b><b>'</script><textarea><i></textarea>", "<a>1<a>2<a>3<a>4<a>5<a>6<a>7<a>8<a>9<a>10",
		strings.Repeat("<b>x</b>", 100), "a < b & c <", "<p", "<!-- <b> -->",
	} {
		require.Equal(t, same, string(fewFormats([]byte(same))))
	}
	got := string(fewFormats([]byte(different(12) + "x" + strings.Repeat("</b>", 12) + "<i>y</i>")))
	require.Equal(t, different(maxFormats)+"x"+strings.Repeat("</b>", maxFormats)+"<i>y</i>", got)
	require.Less(t, len(fewFormats([]byte(different(8)+strings.Repeat("<p>x", 500_000)))), 4*maxReopened/maxFormats)
}

// ending is a context that is over after it was asked some times.
type ending struct {
	context.Context //nolint:containedctx // it is one
	left            int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestReadableEndsWithItsTime(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>Some words.</p>", 1000))
	for _, asked := range []int{0, 1, 2, 10, 1000} {
		ctx := &ending{t.Context(), asked}
		article, err := Readable(ctx, page, "https://a.example/")
		require.ErrorIs(t, err, context.DeadlineExceeded, asked)
		require.Empty(t, article.Text)
	}
}
