package export

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"deerflow/internal/evidence"
)

// MaxMarkdown bounds the documents that are exported as HTML and PDF, in bytes.
const MaxMarkdown = 512 << 10

// maxBlock is the length from which a block without an empty line is broken up, in
// bytes: see [evidence.Tame].
const maxBlock = 64 << 10

// ErrTooLong is the error of a document that is too long to be exported.
var ErrTooLong = errors.New("the document is too long")

// Report is a document to export.
type Report struct {
	Title    string
	Markdown string
	// Dir is the virtual directory that relative images are in.
	Dir        string
	References []Reference
	// Image reads an image by its virtual path; nil, or an error, leaves it out.
	Image func(virtual string) ([]byte, error)
}

// Reference is a page that the document points at.
type Reference struct {
	Title string
	URL   string
	Grade evidence.Grade
	At    time.Time // when it was fetched or found; zero otherwise
}

// says tells what a reference rests on.
func (r *Reference) says() string {
	day := r.At.UTC().Format(time.DateOnly)
	switch r.Grade {
	case evidence.Fetched:
		return "read on " + day
	case evidence.Found:
		if r.At.IsZero() {
			return "named by a tool, not read"
		}
		return "found by a search on " + day + ", not read"
	case evidence.Given:
		return "named by the user"
	default:
		return "not verified: nothing in the research names this address"
	}
}

func (r *Reference) name() string {
	if r.Title == "" {
		return r.URL
	}
	return r.Title
}

// Text is the document as it was written, with what its citations rest on.
func (r *Report) Text() string {
	text := strings.TrimRight(r.Markdown, "\n") + "\n"
	if len(r.References) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	b.WriteString("\n---\n\n## Evidence\n\n")
	for i := range r.References {
		ref := &r.References[i]
		fmt.Fprintf(&b, "- [%s](<%s>): %s\n", escapeMarkdown(ref.name()), strings.NewReplacer("<", "%3C", ">", "%3E").Replace(ref.URL), ref.says())
	}
	return b.String()
}

// escapeMarkdown keeps a title from being more than text.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if strings.ContainsRune("\\`*_{}[]<>#|!~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// imagePath is the virtual path of an image of the document, "" for one that is
// elsewhere.
func (r *Report) imagePath(destination string) string {
	switch {
	case strings.Contains(destination, ":"), strings.HasPrefix(destination, "//"), destination == "":
		return ""
	case strings.HasPrefix(destination, "/mnt/"):
		return path.Clean(destination)
	case strings.HasPrefix(destination, "/"), r.Dir == "":
		return ""
	}
	return path.Join(r.Dir, destination)
}
