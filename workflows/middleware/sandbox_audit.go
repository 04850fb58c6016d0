package middleware

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// shownCommand is how much of a command a warning repeats, in bytes.
const shownCommand = 200

// SandboxAudit acts on the verdict that a shell command got when the model's
// message was stored: a dangerous command is not run, one of medium risk is, with
// a note on its result. The activity logs every command with its verdict. It is
// always on, and a help, not a wall.
type SandboxAudit struct{ Base }

// Name is SandboxAudit.
func (*SandboxAudit) Name() string { return NameSandboxAudit }

// AroundTool blocks, or adds a note.
func (*SandboxAudit) AroundTool(ctx workflow.Context, _ *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	v := call.Verdict
	switch {
	case v == nil:
		return next(ctx, call, nil)
	case v.Block:
		return next(ctx, call, &step.Reply{Error: true, Text: fmt.Sprintf(
			"Error: Command blocked: %s. It was not run. Find a safer way: work on the files of this thread only, and run nothing that you have not looked at.", v.Reason)})
	}
	call.Rules.Note = fmt.Sprintf("Note: this command has a medium risk (%s).", v.Reason)
	if command := agent.Salient(call.Args); command != "" {
		call.Rules.Note += " Command: " + thread.Prefix(command, shownCommand)
	}
	return next(ctx, call, nil)
}
