package middleware

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// ToolErrorHandling makes every failure around a tool a result for the model: a
// call of a tool that does not exist, a call that cannot be run, a worker that
// was lost (B10). A cancel passes through, and so does the end of a thread that
// was deleted.
type ToolErrorHandling struct{ Base }

// Name is ToolErrorHandling.
func (*ToolErrorHandling) Name() string { return NameToolErrorHandling }

// AroundTool answers calls that cannot be run, and failures.
func (*ToolErrorHandling) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if call.Invalid != "" {
		return next(ctx, call, &step.Reply{Error: true, Text: "Error: " + call.Invalid})
	}
	if !call.Known {
		return next(ctx, call, &step.Reply{Error: true, Text: unknownTool(call.Name, run.Plan)})
	}
	reply, err := next(ctx, call, nil)
	if err == nil {
		return reply, nil
	}
	var cancelled *temporal.CanceledError
	var app *temporal.ApplicationError
	final := errors.As(err, &app) && (app.Type() == step.ErrThreadGone || app.Type() == step.ErrOvertaken)
	if errors.As(err, &cancelled) || ctx.Err() != nil || final {
		return reply, err
	}
	workflow.GetLogger(ctx).Warn("A tool activity failed; the model is told", "tool", call.Name, "error", err)
	return next(ctx, call, &step.Reply{Error: true, Text: lostTool(call, err)})
}

func unknownTool(name string, plan *agent.Summary) string {
	if len(plan.Tools) == 0 {
		return fmt.Sprintf("Error: %q is not a tool, and this run has none.", name)
	}
	names := make([]string, 0, len(plan.Tools))
	for _, t := range plan.Tools {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("Error: %q is not a tool. Use one of: %s.", name, strings.Join(names, ", "))
}

func lostTool(call *ToolCall, err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == step.ErrSandboxAway {
		return fmt.Sprintf("Error: %s was not run (%s). Go on without it, or try again later.", call.Name, brief(err))
	}
	if call.Tool.Class == agent.ClassUnsafe {
		return fmt.Sprintf("Error: the worker was lost while %s ran (%s). It may have run, in full or in part: check before you repeat it.", call.Name, brief(err))
	}
	return fmt.Sprintf("Error: tool %s failed (%s). Go on with what you know, or choose another tool.", call.Name, brief(err))
}

// maxFailure is how much a failure may say, in bytes.
const maxFailure = 500

func brief(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return thread.Prefix(app.Message(), maxFailure)
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "it did not end in time"
	}
	return "its worker did not answer"
}
