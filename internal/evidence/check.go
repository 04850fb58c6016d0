package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// KeyCitations holds, in the additional_kwargs of an answer, what became of its
// citations, when some are flagged.
const KeyCitations = "deerflow_citations"

// Grade says what a citation rests on.
type Grade string

// The grades. The last two are flagged.
const (
	// Fetched: a tool has read the page.
	Fetched Grade = "fetched"
	// Given: the user named the address, in a message or in an uploaded file.
	Given Grade = "given"
	// Found: a search, or a tool that fetches no pages, named the address, but
	// nobody has read the page.
	Found Grade = "found"
	// Unknown: nothing in the thread names the address.
	Unknown Grade = "unknown"
)

// Flag is a citation that points at nothing which was fetched.
type Flag struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Form  Form   `json:"form"`
	Grade Grade  `json:"grade"` // found or unknown
}

// Check is what became of the citations of one document.
type Check struct {
	Place     string   `json:"place"` // [PlaceAnswer], or the virtual path of a file
	Citations int      `json:"citations"`
	Fetched   int      `json:"fetched"`
	Given     int      `json:"given"`
	Found     int      `json:"found"`
	Unknown   int      `json:"unknown"`
	Flags     []Flag   `json:"flags,omitempty"`
	Keys      []string `json:"keys,omitempty"` // of all that are cited
}

// PlaceAnswer is the place of the citations in the answer of a run.
const PlaceAnswer = "answer"

// Judge grades the citations of a document. Nobody is asked when there are none.
func Judge(place string, citations []Citation, grade func(c Citation) Grade) Check {
	check := Check{Place: place, Citations: len(citations)}
	for _, c := range citations {
		check.Keys = append(check.Keys, c.Key)
		g := grade(c)
		switch g {
		case Fetched:
			check.Fetched++
			continue
		case Given:
			check.Given++
			continue
		case Found:
			check.Found++
		default:
			g = Unknown
			check.Unknown++
		}
		check.Flags = append(check.Flags, Flag{URL: c.URL, Title: c.Title, Form: c.Form, Grade: g})
	}
	return check
}

// GradeOf is what the check says of a page, by its key, as far as it was not
// fetched: of the pages that are cited and not flagged, some were. It is "" for a
// page that is not cited.
func (c *Check) GradeOf(key string) Grade {
	if !slices.Contains(c.Keys, key) {
		return ""
	}
	for _, f := range c.Flags {
		if k, ok := Key(f.URL); ok && k == key {
			return f.Grade
		}
	}
	return Given
}

// maxNoted is how many flags a note to the model lists of each grade.
const maxNoted = 20

// Note tells the model which citations of a file it should mend; "" when there
// are none.
func (c *Check) Note() string {
	if len(c.Flags) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Note on %s: ", c.Place)
	switch {
	case c.Citations == 1:
		b.WriteString("its only citation points at a page that was")
	case len(c.Flags) == 1:
		fmt.Fprintf(&b, "1 of its %d citations points at a page that was", c.Citations)
	default:
		fmt.Fprintf(&b, "%d of its %d citations point at pages that were", len(c.Flags), c.Citations)
	}
	b.WriteString(" not fetched in this thread.")
	c.list(&b, Unknown, "\nNothing in this thread names this address; fetch it, or take it out together with what rests on it alone:",
		"\nNothing in this thread names these addresses; fetch them, or take them out together with what rests on them alone:")
	c.list(&b, Found, "\nThis one was found but not read; fetch it before you rely on it:",
		"\nThese were found but not read; fetch them before you rely on them:")
	return b.String()
}

// list names the flags of a grade, below the head for one or that for several.
func (c *Check) list(b *strings.Builder, g Grade, one, several string) {
	n := c.Found
	if g == Unknown {
		n = c.Unknown
	}
	switch n {
	case 0:
		return
	case 1:
		several = one
	}
	b.WriteString(several)
	listed := 0
	for _, f := range c.Flags {
		if f.Grade == g && listed < maxNoted {
			b.WriteString("\n- " + f.URL)
			listed++
		}
	}
	if n > maxNoted {
		fmt.Fprintf(b, "\n- and %d more", n-maxNoted)
	}
}
