package documents

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium/responses"
)

const (
	// larger is by how much a heading is set larger than the text.
	larger = 1.15
	// longestTitle is how many bytes a line may have that is a heading.
	longestTitle = 160
	// mostLevels is how many sizes of headings are told apart.
	mostLevels = 4
)

// look is how a line is set.
type look struct {
	size float64 // points, to the half
	bold bool    // all of it
}

// looksOf joins the pieces of a page that stand on one line.
func looksOf(rects []*responses.GetPageTextStructuredRect) map[string]look {
	looks := map[string]look{}
	var text strings.Builder
	var line look
	var before *responses.GetPageTextStructuredRect
	end := func() {
		if key := squeeze(text.String()); key != "" {
			looks[key] = line
		}
		text.Reset()
	}
	for _, r := range rects {
		if r == nil || r.FontInformation == nil || strings.TrimSpace(r.Text) == "" {
			continue
		}
		size := math.Round(r.FontInformation.RenderedSize*2) / 2
		bold := r.FontInformation.Weight >= 600 || strings.Contains(strings.ToLower(r.FontInformation.Name), "bold")
		if before == nil || !sameLine(before, r) {
			end()
			line = look{size: size, bold: bold}
		}
		line.size, line.bold = max(line.size, size), line.bold && bold
		text.WriteString(ownText(r.Text))
		before = r
	}
	end()
	return looks
}

// ownText is the text of a piece without the letters of lines that it touches,
// which come with it.
func ownText(text string) string {
	longest := ""
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if len(line) > len(longest) {
			longest = line
		}
	}
	return longest
}

// sameLine reports whether two pieces overlap by half of the smaller one.
func sameLine(a, b *responses.GetPageTextStructuredRect) bool {
	p, q := a.PointPosition, b.PointPosition
	overlap := min(p.Top, q.Top) - max(p.Bottom, q.Bottom)
	return overlap > min(p.Top-p.Bottom, q.Top-q.Bottom)/2
}

// squeeze takes all spaces out, of which readers of PDF see more or fewer.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// markdown writes the pages. Lines that are set larger than the text are
// headings; short bold lines are bold.
func (p *pdf) markdown() string {
	levels := p.levels()
	var b strings.Builder
	for i, page := range p.pages {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "<!-- page %d -->\n\n", i+1)
		for _, line := range page.lines {
			title := strings.TrimSpace(line)
			set, known := page.looks[squeeze(line)]
			level := levels[set.size]
			switch {
			case !known || !titleLike(title):
				b.WriteString(ordinary(line) + "\n")
			case level > 0:
				b.WriteString("\n" + strings.Repeat("#", level) + " " + title + "\n\n")
			case set.bold:
				b.WriteString("**" + title + "**\n")
			default:
				b.WriteString(ordinary(line) + "\n")
			}
		}
	}
	return collapse(b.String())
}

// levels gives each size of headings its level, the largest the first.
func (p *pdf) levels() map[float64]int {
	count := map[float64]int{}
	for _, page := range p.pages {
		for text, set := range page.looks {
			count[set.size] += len(text)
		}
	}
	body, most := 0.0, 0
	for size, n := range count {
		if n > most || n == most && size < body {
			body, most = size, n
		}
	}
	var sizes []float64
	for size := range count {
		if size >= body*larger && size > 0 {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	levels := map[float64]int{}
	for i, size := range sizes {
		levels[size] = min(i+1, mostLevels)
	}
	return levels
}

// titleLike reports whether a line may be a heading: short, with a word, and no
// line of a table of contents.
func titleLike(line string) bool {
	return len(line) <= longestTitle && strings.IndexFunc(line, unicode.IsLetter) >= 0 &&
		!strings.Contains(line, "*") && !leaders.MatchString(line)
}

// leaders matches the dots that lead to a page number.
var leaders = regexp.MustCompile(`(?:\. ?){4,}`)

// bullets matches the mark of an item of a list.
var bullets = regexp.MustCompile(`^\s*[\x{2022}\x{2023}\x{25e6}\x{25aa}\x{25cf}\x{2043}]\s+`)

// ordinary is a line of text.
func ordinary(line string) string {
	return bullets.ReplaceAllString(plainLine(line), "- ")
}

// collapse leaves at most one empty line in a row.
func collapse(text string) string {
	var b strings.Builder
	empty := true
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
