package doctor

import (
	"fmt"
	"io"
	"strings"

	"deerflow/internal/cli"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK   Status = "ok"
	Warn Status = "warn" // works, but is probably not meant
	Fail Status = "fail"
	Skip Status = "skip" // there was nothing to look at
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do
}

// Report is everything that was looked at.
type Report struct {
	Status Status  `json:"status"` // ok, warn or fail: the worst of the checks
	Checks []Check `json:"checks"`
}

func (r *Report) add(checks ...Check) {
	if r.Status == "" {
		r.Status = OK
	}
	for _, c := range checks {
		c.Detail, c.Fix = cli.Clean(c.Detail), cli.Clean(c.Fix)
		r.Checks = append(r.Checks, c)
		if c.Status == Fail || c.Status == Warn && r.Status == OK {
			r.Status = c.Status
		}
	}
}

// count is how many checks had an outcome.
func (r *Report) count(s Status) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].Status == s {
			n++
		}
	}
	return n
}

// WriteText writes one line a check, with a line for what to do below it.
func (r *Report) WriteText(w io.Writer, style cli.Style) error {
	width := 0
	for i := range r.Checks {
		width = max(width, len(r.Checks[i].Name))
	}
	var b strings.Builder
	for i := range r.Checks {
		c := &r.Checks[i]
		fmt.Fprintf(&b, "%s  %-*s  %s\n", colour(style, c.Status), width, c.Name, c.Detail)
		if c.Fix != "" {
			fmt.Fprintf(&b, "      %*s  -> %s\n", width, "", c.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warnings, %d failed, %d skipped\n", r.count(OK), r.count(Warn), r.count(Fail), r.count(Skip))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func colour(style cli.Style, s Status) string {
	word := fmt.Sprintf("%-4s", s)
	switch s {
	case OK:
		return style.Green(word)
	case Warn:
		return style.Yellow(word)
	case Fail:
		return style.Red(word)
	default:
		return style.Dim(word)
	}
}
