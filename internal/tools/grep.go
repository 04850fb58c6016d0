package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

//go:embed grep.md
var grepText string

// maxGrepLine is how much of a line is shown, in characters.
const maxGrepLine = 200

type grepParams struct {
	Description   string `json:"description" jsonschema:"Why you search for this, in a few words. Give this argument first."`
	Pattern       string `json:"pattern" jsonschema:"The regular expression, or the text with literal."`
	Path          string `json:"path" jsonschema:"The absolute path of a directory or a file."`
	Glob          string `json:"glob,omitempty" jsonschema:"Search only files that match this pattern, such as *.py."`
	Literal       bool   `json:"literal,omitempty" jsonschema:"true takes the pattern as plain text."`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"true tells upper and lower case apart."`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"How many lines to show at most."`
}

// grep makes the tool; configured is how many lines it shows, 0 for the limit of
// the call.
func grep(configured int) (Tool, error) {
	return definition[grepParams]{
		name: "grep", description: grepText, class: agent.ClassRead, labelled: true,
		run: func(ctx context.Context, c Call, p grepParams) (Result, error) {
			if configured > 0 {
				c.Env.Limits.GrepMatches = configured
			}
			return runGrep(ctx, c, p)
		},
	}.build()
}

func runGrep(ctx context.Context, c Call, p grepParams) (Result, error) {
	switch {
	case c.Env.Sandbox == nil:
		return needsSandbox(), nil
	case p.Pattern == "":
		return failure("Invalid arguments for grep: argument \"pattern\" must not be empty"), nil
	}
	found, err := c.Env.Sandbox.Grep(ctx, p.Path, sandbox.GrepOptions{
		Pattern: p.Pattern, Glob: p.Glob, Literal: p.Literal, Case: p.CaseSensitive,
		Max: atMost(p.MaxResults, c.Env.Limits.GrepMatches, maxGrepMatches),
	})
	if err != nil {
		return directoryAnswer(ctx, p.Path, err)
	}
	where := shownPath(c, p.Path)
	note := ""
	if found.Literal != "" {
		note = fmt.Sprintf("\n[the pattern is no valid regular expression (%s) and was searched for literally]", found.Literal)
	}
	note += incompleteNote(found.Incomplete) + largeNote(found)
	if len(found.Matches) == 0 {
		return text("No matches found under " + where + note), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d matches under %s", len(found.Matches), where)
	if found.More {
		fmt.Fprintf(&b, " (showing first %d)", len(found.Matches))
	}
	for _, m := range found.Matches {
		fmt.Fprintf(&b, "\n%s:%d: %s", m.Path, m.Line, thread.Shorten(strings.TrimSpace(m.Text), maxGrepLine))
	}
	if found.More {
		b.WriteString("\n[truncated: there are more matches; use a narrower pattern or path]")
	}
	return text(b.String() + note), nil
}

// largeNote names the files that were not searched, so that nothing found in
// them is not taken for nothing there (I14).
func largeNote(found sandbox.GrepResult) string {
	if len(found.Large) == 0 {
		return ""
	}
	more := ""
	if found.LargeMore > 0 {
		more = fmt.Sprintf(" and %d more", found.LargeMore)
	}
	return fmt.Sprintf("\n[not searched, because larger than 1 MB: %s%s; give one of them as path to search it]", strings.Join(found.Large, ", "), more)
}
