package web

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the HTML that is made readable: work grows with the elements.
const (
	maxHTML     = 4 << 20 // bytes; what comes behind is left out
	maxElements = 50_000  // of a page in which an article is looked for
	maxText     = 4 << 20 // bytes of Markdown; what comes behind is left out
)

// untitled stands where a page has no title.
const untitled = "Untitled"

// Article is what there is to read on a page.
type Article struct {
	Title string // "Untitled" if there is none
	Text  string // Markdown, "" if there is nothing
	Login bool   // the page asks for a password
}

// Readable takes the article out of a page in UTF-8 and writes it as Markdown, with
// absolute links. A page on which no article is found is taken as a whole.
func Readable(ctx context.Context, source []byte, address string) (Article, error) {
	if len(source) > maxHTML {
		source = source[:maxHTML]
	}
	page, err := url.Parse(address)
	if err != nil {
		page = &url.URL{}
	}
	whole, err := parseHTML(source)
	if err != nil {
		return Article{}, failed(KindFormat, "the page is no HTML that can be read")
	}
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	article := Article{Title: untitled, Login: has(whole, asksPassword)}
	if ctx.Err() != nil {
		return Article{}, ctx.Err()
	}
	found, err := parser.ParseDocument(whole, page)
	if ctx.Err() != nil {
		return Article{}, ctx.Err()
	}
	if title := strings.Join(strings.Fields(found.Title()), " "); err == nil && title != "" {
		article.Title = title
	} else if title := titleOf(whole); title != "" {
		article.Title = title
	}
	if err == nil && found.Node != nil {
		if article.Text, err = markdown(ctx, found.Node, page); err != nil {
			return Article{}, err
		}
	}
	if article.Text == "" {
		article.Text, err = markdown(ctx, whole, page)
	}
	return article, err
}

// markdown writes a part of a page as Markdown. What a browser would not show as
// text is left out, images that are written into the page too.
func markdown(ctx context.Context, n *html.Node, page *url.URL) (string, error) {
	prune(n)
	boundTables(n)
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true)),
	))
	// The library does not look at the context: once it is over, nothing more is written.
	c.Register.Renderer(func(_ converter.Context, _ converter.Writer, _ *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly-1)
	text, err := c.ConvertNode(n, converter.WithContext(ctx), converter.WithDomain(page.String()))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", failed(KindFormat, "the page cannot be written as Markdown")
	case len(text) > maxText:
		text = bytes.ToValidUTF8(text[:maxText], nil)
	}
	return string(bytes.TrimSpace(text)), nil
}

// prune takes out of a tree what is no text.
func prune(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.ElementNode && noText(child) {
			n.RemoveChild(child)
		} else {
			prune(child)
		}
		child = next
	}
}

// silent are elements that hold no text of the page.
var silent = []atom.Atom{
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Nav,
	atom.Button, atom.Select,
}

func noText(n *html.Node) bool {
	if slices.Contains(silent, n.DataAtom) || strings.EqualFold(attribute(n, "aria-hidden"), "true") || hasAttribute(n, "hidden") {
		return true
	}
	return n.DataAtom == atom.Img && strings.HasPrefix(strings.ToLower(strings.TrimSpace(attribute(n, "src"))), "data:")
}

func asksPassword(n *html.Node) bool {
	return n.DataAtom == atom.Input && strings.EqualFold(attribute(n, "type"), "password")
}

// has reports whether a node of the tree is one that is looked for.
func has(n *html.Node, is func(*html.Node) bool) bool {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && is(d) {
			return true
		}
	}
	return false
}

func titleOf(n *html.Node) string {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == atom.Title && d.FirstChild != nil {
			return strings.Join(strings.Fields(d.FirstChild.Data), " ")
		}
	}
	return ""
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}
