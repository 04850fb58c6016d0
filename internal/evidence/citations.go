package evidence

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of what is looked at in one document.
const (
	maxDocument  = 512 << 10 // bytes
	maxParagraph = 8 << 10   // bytes; longer ones are looked at in pieces
	maxCitations = 500
	maxTitle     = 200 // characters
)

// Form is how a document points at a page.
type Form string

// The forms, the strongest claim first.
const (
	// FormCitation is [citation:Title](URL), or [citation:Title] with a reference.
	FormCitation Form = "citation"
	// FormLink is an ordinary link, also one in a footnote.
	FormLink Form = "link"
	// FormBare is an address in the text, also one in a definition of references.
	FormBare Form = "bare"
)

// Citation is a page that a document points at.
type Citation struct {
	Key   string // see [Key]
	URL   string // as it was written first
	Title string // "" when there is none
	Form  Form   // the strongest of all places that point at it
}

// citationPrefix marks, in the text of a link, that it is the source of what
// stands before it.
const citationPrefix = "citation:"

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote))

// Citations are the pages of the web that a Markdown document points at, each
// once, in the order of the text. Code, images, relative links, anchors and links
// to files of the thread are none; neither are addresses of this machine or of a
// private network, unless they are cited.
func Citations(document string) []Citation {
	if len(document) > maxDocument {
		document = strings.ToValidUTF8(document[:maxDocument], "")
	}
	source := []byte(Tame(document, maxParagraph))
	pc := parser.NewContext()
	root := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(pc))
	c := collector{at: map[string]int{}}
	bare := bareText{source: source}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		if !entering {
			return ast.WalkContinue, nil
		}
		if t, ok := n.(*ast.Text); ok {
			c.addBare(bare.add(t))
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image, *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			c.addBare(bare.end())
			title, form := plain(n, source), FormLink
			if rest, ok := cutPrefixFold(title, citationPrefix); ok {
				title, form = rest, FormCitation
			}
			c.add(readable(n.Destination), title, form)
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			c.addBare(bare.end())
			if n.AutoLinkType == ast.AutoLinkURL {
				c.add(string(n.URL(source)), "", FormBare)
			}
		}
		return ast.WalkContinue, nil
	})
	c.addBare(bare.end())
	unused := pc.References() // in no order
	slices.SortFunc(unused, func(a, b parser.Reference) int { return bytes.Compare(a.Label(), b.Label()) })
	pictures := imageReferences(root)
	for _, r := range unused {
		if !pictures[util.ToLinkReference(r.Label())] {
			c.add(readable(r.Destination()), readable(r.Title()), FormBare)
		}
	}
	return c.found
}

// imageReferences are the labels by which images are shown, also those in links.
func imageReferences(root ast.Node) map[string]bool {
	labels := map[string]bool{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function gives no error
		if image, ok := n.(*ast.Image); ok && entering && image.Reference != nil {
			labels[util.ToLinkReference(image.Reference.Value)] = true
		}
		return ast.WalkContinue, nil
	})
	return labels
}

type collector struct {
	found []Citation
	at    map[string]int // by key
}

func (c *collector) addBare(addresses []string) {
	for _, a := range addresses {
		c.add(a, "", FormBare)
	}
}

func (c *collector) add(address, title string, form Form) {
	u, ok := parse(address)
	if !ok || form != FormCitation && !isPublic(u) {
		return
	}
	key, ok := Key(address)
	if !ok {
		return
	}
	title = strings.Join(strings.Fields(title), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle])
	}
	if title == address {
		title = ""
	}
	i, known := c.at[key]
	if !known {
		if len(c.found) < maxCitations {
			c.at[key] = len(c.found)
			c.found = append(c.found, Citation{Key: key, URL: strings.TrimSpace(address), Title: title, Form: form})
		}
		return
	}
	at := &c.found[i]
	if at.Title == "" || form == FormCitation && at.Form != FormCitation && title != "" {
		at.Title = title
	}
	if form == FormCitation || at.Form == FormBare {
		at.Form = form
	}
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.WriteString(readable(t.Segment.Value(source)))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// readable is the text that a part of a document stands for: without the marks
// of escapes, and with the characters that entities name.
func readable(source []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source))))
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return strings.TrimSpace(s[len(prefix):]), true
}
