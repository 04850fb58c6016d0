package export

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/ast"

	"deerflow/internal/evidence"
)

// Bounds of the images in a page.
const (
	maxImage  = 4 << 20 // bytes of one
	maxImages = 16 << 20
)

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{{.Title}}</title>
<style>
body { max-width: 46rem; margin: 2.5rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; color: #1c1c1c; background: #fff; overflow-wrap: anywhere }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.6em 0 .5em }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto; border-radius: 4px }
code { font: .9em ui-monospace, monospace; background: #f4f4f4 }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid #ccc; color: #444 }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top }
img { max-width: 100% }
a { color: #0b57a4 }
a.citation { font-size: .82em; text-decoration: none }
a.citation::before { content: " [" }
a.citation::after { content: "]" }
hr { border: 0; border-top: 1px solid #ccc; margin: 2rem 0 }
@media print { body { margin: 0; max-width: none } a { color: inherit } }
</style>
</head>
<body>
{{.Body}}
</body>
</html>
`))

// policy is what may stand in a page: text and its form, links that people click,
// and images that are part of the page.
var policy = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowStandardAttributes()
	p.AllowElements("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "strong", "em", "del", "sup", "sub", "code", "pre", "blockquote",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "div", "section")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(citation|footnotes|footnote-ref|footnote-backref)$`)).OnElements("a", "div", "section")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("alt").OnElements("img")
	p.AllowAttrs("src").Matching(regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$`)).OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto", "data")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}()

// HTML is the document as a page that needs nothing else: its style and its images
// are in it, no script is, and it loads nothing.
func (r *Report) HTML() ([]byte, error) {
	source := []byte(evidence.Tame(r.Text(), maxBlock))
	if len(source) > MaxMarkdown {
		return nil, ErrTooLong
	}
	doc := parse(source)
	r.placeImages(doc)
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, doc); err != nil {
		return nil, fmt.Errorf("render the document: %w", err)
	}
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{
		"Title": r.Title, "Body": template.HTML(policy.SanitizeBytes(body.Bytes())), //nolint:gosec // it was sanitised in this line
	})
	if err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// placeImages puts the images of the thread into the document, and takes the
// addresses of all others out: a page that is opened tells nobody of it. Links
// that lead nowhere outside of the thread lose their address.
func (r *Report) placeImages(doc ast.Node) {
	total := 0
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			n.Destination = []byte(r.dataURL(string(readable(n.Destination)), &total))
		case *ast.Link:
			if to := string(readable(n.Destination)); !strings.HasPrefix(to, "#") && safeLink(to) == "" {
				n.Destination = nil
			}
		}
		return ast.WalkContinue, nil
	})
}

func (r *Report) dataURL(destination string, total *int) string {
	data, kind := r.image(destination)
	if data == nil || *total+len(data) > maxImages {
		return ""
	}
	*total += len(data)
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// image reads an image of the thread, and tells its type by what is in it.
func (r *Report) image(destination string) (data []byte, kind string) {
	virtual := r.imagePath(destination)
	if virtual == "" || r.Image == nil {
		return nil, ""
	}
	data, err := r.Image(virtual)
	if err != nil || len(data) > maxImage {
		return nil, ""
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return data, kind
	}
	return nil, ""
}
