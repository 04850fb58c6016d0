package agent

import (
	"encoding/json"
	"path"
	"strings"

	"deerflow/internal/audit"
	"deerflow/internal/thread"
)

// workspace is where a relative path of a tool call begins.
const workspace = "/mnt/user-data/workspace"

// ShellCommand is the command that a call runs in a shell; ok is false for a tool
// that runs none. An argument that is missing or no text is an empty command.
func (t ToolSpec) ShellCommand(call thread.ToolCall) (command string, ok bool) {
	if t.Shell == "" {
		return "", false
	}
	return textArg(call, t.Shell), true
}

// verdict is what the audit has to say about a call, nil for nothing.
func verdict(spec ToolSpec, call thread.ToolCall) *thread.Verdict {
	command, ok := spec.ShellCommand(call)
	if !ok {
		return nil
	}
	v := audit.Command(command)
	if v.Level == audit.Pass {
		return nil
	}
	return &thread.Verdict{Block: v.Level == audit.Block, Reason: v.Reason}
}

// Target is the file that a call would change, in the spelling of
// [thread.FileMark]; empty for none.
func (t ToolSpec) Target(call thread.ToolCall) string {
	if t.Writes == "" {
		return ""
	}
	args, ok := arguments(call.Args)
	if !ok {
		return ""
	}
	file := textArg(call, t.Writes)
	if file == "" { // a number is taken for a name, too
		file = strings.TrimSpace(string(args[t.Writes]))
	}
	if file == "" || file == "null" || file == `""` {
		return ""
	}
	if !path.IsAbs(file) {
		file = path.Join(workspace, file)
	}
	if file = path.Clean(file); len(file) > maxTarget {
		return ""
	}
	return file
}

// maxTarget is longer than any file name of a system that tools work on.
const maxTarget = 4096

// textArg reads an argument that is a text; empty when it is not.
func textArg(call thread.ToolCall, name string) string {
	args, ok := arguments(call.Args)
	if !ok {
		return ""
	}
	var text string
	if json.Unmarshal(args[name], &text) != nil {
		return ""
	}
	return text
}
