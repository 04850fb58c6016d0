package tools

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

//go:embed present_files.md
var presentFilesText string

// maxPresented bounds one call; each path becomes part of the thread's state.
const maxPresented = 100

type presentFilesParams struct {
	Filepaths []string `json:"filepaths" jsonschema:"The absolute paths of the files, all under /mnt/user-data/outputs."`
}

func presentFiles() (Tool, error) {
	return definition[presentFilesParams]{
		name: "present_files", description: presentFilesText, class: agent.ClassRead, run: runPresentFiles,
	}.build()
}

// runPresentFiles adds files to the thread's artifacts. One bad path fails the
// whole call, so that the model does not tell of a file that is not there.
func runPresentFiles(ctx context.Context, c Call, p presentFilesParams) (Result, error) {
	switch {
	case c.Env.Sandbox == nil:
		return needsSandbox(), nil
	case len(p.Filepaths) == 0:
		return failure("Invalid arguments for present_files: argument \"filepaths\" must name at least one file"), nil
	case len(p.Filepaths) > maxPresented:
		return failure("Too many files: %d. Present at most %d, or pack them into an archive.", len(p.Filepaths), maxPresented), nil
	}
	var shown []string
	for _, asked := range p.Filepaths {
		info, err := c.Env.Sandbox.Stat(ctx, asked)
		if err != nil && lost(ctx, err) {
			return Result{}, err
		}
		if problem := unpresentable(c, asked, info, err); problem != "" {
			return failure("%s", problem), nil
		}
		if !slices.Contains(shown, info.Path) {
			shown = append(shown, info.Path)
		}
	}
	r := text("Successfully presented files")
	r.State = thread.StateUpdate{Artifacts: shown}
	return r, nil
}

// unpresentable says why a file cannot be shown, "" when it can.
func unpresentable(c Call, asked string, info sandbox.Info, err error) string {
	below := func(p string) bool { return strings.HasPrefix(p, sandbox.Outputs+"/") }
	switch {
	case errors.Is(err, fs.ErrNotExist) && belowOutputs(c, asked):
		return "File not found: " + shownPath(c, asked) + ". Write it before you present it."
	case err != nil || !below(info.Path) || !below(info.Real):
		return "Only files in " + sandbox.Outputs + " can be presented: " + c.Env.Sandbox.Mask(asked)
	case info.Dir:
		return info.Path + " is a directory. Present the files in it, or pack them into an archive."
	case !info.Mode.IsRegular():
		return info.Path + " is not a regular file"
	}
	return ""
}

// belowOutputs reports whether a path is at least meant for the outputs.
func belowOutputs(c Call, asked string) bool {
	virtual, err := c.Env.Sandbox.Virtual(asked)
	return err == nil && strings.HasPrefix(path.Clean(virtual), sandbox.Outputs+"/")
}
