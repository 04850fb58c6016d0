package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
)

//go:embed glob.md
var globText string

type globParams struct {
	Description string `json:"description" jsonschema:"Why you look for these files, in a few words. Give this argument first."`
	Pattern     string `json:"pattern" jsonschema:"The pattern, relative to path, such as **/*.md."`
	Path        string `json:"path" jsonschema:"The absolute path of the directory to search."`
	IncludeDirs bool   `json:"include_dirs,omitempty" jsonschema:"true finds directories too."`
	MaxResults  int    `json:"max_results,omitempty" jsonschema:"How many paths to show at most."`
}

// glob makes the tool; configured is how many paths it shows, 0 for the limit of
// the call.
func glob(configured int) (Tool, error) {
	return definition[globParams]{
		name: "glob", description: globText, class: agent.ClassRead, labelled: true,
		run: func(ctx context.Context, c Call, p globParams) (Result, error) {
			if configured > 0 {
				c.Env.Limits.GlobPaths = configured
			}
			return runGlob(ctx, c, p)
		},
	}.build()
}

func runGlob(ctx context.Context, c Call, p globParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	found, err := c.Env.Sandbox.Glob(ctx, p.Path, sandbox.GlobOptions{
		Pattern: p.Pattern, Dirs: p.IncludeDirs, Max: atMost(p.MaxResults, c.Env.Limits.GlobPaths, maxGlobPaths),
	})
	if err != nil {
		return directoryAnswer(ctx, p.Path, err)
	}
	where := shownPath(c, p.Path)
	if len(found.Paths) == 0 {
		return text("No files matched under " + where + incompleteNote(found.Incomplete)), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d paths under %s", found.Total, where)
	cut := found.Total > len(found.Paths)
	if cut {
		fmt.Fprintf(&b, " (showing first %d)", len(found.Paths))
	}
	for i, path := range found.Paths {
		fmt.Fprintf(&b, "\n%d. %s", i+1, path)
	}
	if cut {
		b.WriteString("\n[truncated: use a narrower pattern or path]")
	}
	b.WriteString(incompleteNote(found.Incomplete))
	return text(b.String()), nil
}

// shownPath is the path that was asked for in its virtual spelling.
func shownPath(c Call, asked string) string {
	if virtual, err := c.Env.Sandbox.Virtual(asked); err == nil {
		return virtual
	}
	return asked
}
