package uploads

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"deerflow/internal/thread"
)

// Bounds of an outline.
const (
	mostHeadings   = 50
	previewLines   = 5
	longestLine    = 200 // bytes of a heading or of a line of the preview
	longestHeading = 120 // bytes of a line that may be a heading although it is no Markdown one
)

// Outline is what a converted document is about: its headings or, if it has
// none, how it begins.
type Outline struct {
	Headings []Heading
	More     bool     // there are more headings
	Preview  []string // lines
}

// Heading is a line that names a part of a document.
type Heading struct {
	Line  int // from 1
	Title string
}

var (
	markdownHeading = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$`)
	boldHeading     = regexp.MustCompile(`^(?:\*\*([^*]+)\*\*|__([^_]+)__):?$`)
	// Parts of reports and contracts, which converters write as plain lines.
	partHeading = regexp.MustCompile(`^(?:PART|ITEM|CHAPTER|SECTION|ARTICLE|APPENDIX|Part|Item|Chapter|Section|Article|Appendix)\s+(?:\d+[A-Z]?(?:\.\d+)*|[IVXLC]+|[A-Z])\b[.:)\x{2013}\x{2014}-]?(?:\s.*)?$`)
	fence       = regexp.MustCompile("^ {0,3}(```|~~~)")
)

// ReadOutline reads the outline of a Markdown text. It reads no further than it
// needs to.
func ReadOutline(r io.Reader) (Outline, error) {
	var o Outline
	code := "" // the fence of the block that the line stands in
	lines := bufio.NewReaderSize(r, 4096)
	for n := 1; !o.More; n++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return o, fmt.Errorf("read line %d: %w", n, err)
		}
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		o.preview(line)
		mark := ""
		if found := fence.FindStringSubmatch(line); found != nil {
			mark = found[1]
		}
		switch {
		case code == "" && mark == "":
			o.heading(n, line)
		case code == "":
			code = mark
		case code == mark:
			code = ""
		}
		if err != nil {
			break
		}
	}
	if len(o.Headings) > 0 {
		o.Preview = nil
	}
	return o, nil
}

// preview keeps how the text begins.
func (o *Outline) preview(line string) {
	text := strings.TrimSpace(line)
	comment := strings.HasPrefix(text, "<!--") && strings.HasSuffix(text, "-->") // of ours, or of another converter
	if text != "" && !comment && len(o.Preview) < previewLines {
		o.Preview = append(o.Preview, short(text))
	}
}

// heading keeps a line if it is one.
func (o *Outline) heading(n int, line string) {
	title := titleOf(line)
	switch {
	case title == "":
	case len(o.Headings) == mostHeadings:
		o.More = true
	default:
		o.Headings = append(o.Headings, Heading{Line: n, Title: short(title)})
	}
}

// titleOf is the title that a line gives a part, "" for an ordinary line.
func titleOf(line string) string {
	text := strings.TrimSpace(line)
	if found := markdownHeading.FindStringSubmatch(strings.TrimRight(line, "\r\n")); found != nil {
		return strings.Trim(found[1], "*_ \t")
	}
	if len(text) > longestHeading {
		return ""
	}
	if found := boldHeading.FindStringSubmatch(text); found != nil {
		return strings.TrimSpace(found[1] + found[2])
	}
	if partHeading.MatchString(text) && !strings.HasSuffix(text, ".") {
		return text
	}
	return ""
}

// readLine reads a line; of a long one, and a minified file is a single one, only
// the beginning.
func readLine(r *bufio.Reader) (string, error) {
	part, err := r.ReadSlice('\n')
	line := string(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, err
}

func short(s string) string {
	if len(s) <= longestLine {
		return s
	}
	return thread.Prefix(s, longestLine-len("...")) + "..."
}
