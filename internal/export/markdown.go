package export

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// citationMark begins the text of a link that is a source.
const citationMark = "citation:"

// citationClass marks such a link in a parsed document.
const citationClass = "citation"

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, extension.Footnote),
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(citations{}, 500))),
)

// citations takes the mark out of the text of citations.
type citations struct{}

// Transform implements [parser.ASTTransformer].
func (citations) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		first, ok := link.FirstChild().(*ast.Text)
		if !ok {
			return ast.WalkContinue, nil
		}
		value := first.Segment.Value(source)
		if len(value) < len(citationMark) || !bytes.EqualFold(value[:len(citationMark)], []byte(citationMark)) {
			return ast.WalkContinue, nil
		}
		rest := first.Segment.WithStart(first.Segment.Start + len(citationMark))
		first.Segment = rest.TrimLeftSpace(source)
		link.SetAttributeString("class", []byte(citationClass))
		return ast.WalkContinue, nil
	})
}

// isCitation reports whether a link is a source.
func isCitation(link *ast.Link) bool {
	_, ok := link.AttributeString("class")
	return ok
}

// parse reads a document.
func parse(source []byte) ast.Node {
	return markdown.Parser().Parse(text.NewReader(source))
}

// safeLink is an address that a reader may follow, "" for others.
func safeLink(destination string) string {
	u, err := url.Parse(strings.TrimSpace(destination))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "mailto":
		return u.String()
	}
	return ""
}

// readable is the text that a part of a document stands for: without the marks
// of escapes, and with the characters that entities name.
func readable(source []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source)))
}
