package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"deerflow/internal/agent"
)

//go:embed ls.md
var lsText string

type lsParams struct {
	Description string `json:"description" jsonschema:"Why you list this directory, in a few words. Give this argument first."`
	Path        string `json:"path" jsonschema:"The absolute path of the directory."`
}

func ls() (Tool, error) {
	return definition[lsParams]{
		name: "ls", description: lsText, class: agent.ClassRead, labelled: true, run: runLs,
	}.build()
}

func runLs(ctx context.Context, c Call, p lsParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	list, err := c.Env.Sandbox.List(ctx, p.Path)
	if err != nil {
		return directoryAnswer(ctx, p.Path, err)
	}
	if len(list.Paths) == 0 {
		return text("(empty)"), nil
	}
	out := strings.Join(list.Paths, "\n")
	if list.Total > len(list.Paths) || list.Incomplete {
		out += fmt.Sprintf("\n[truncated: showing the first %d entries; use a more specific path]", len(list.Paths))
	}
	total := utf8.RuneCountInString(out)
	return text(cutHead(out, c.Env.Limits.ListChars, total, func(shown int) string {
		return fmt.Sprintf("\n[truncated: showing first %d of %d characters; use a more specific path]", shown, total)
	})), nil
}

// incompleteNote is added when a tree was too large to look at all of it.
func incompleteNote(incomplete bool) string {
	if !incomplete {
		return ""
	}
	return "\n[the tree is too large, not all of it was searched; use a more specific path]"
}
