package middleware

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
)

// DeferredToolFilter hides the deferred tools from requests until a search has
// promoted them, and refuses calls of hidden ones. A promotion holds for the
// catalog that it was made in.
type DeferredToolFilter struct{ Base }

// Name is DeferredToolFilter.
func (*DeferredToolFilter) Name() string { return NameDeferredToolFilter }

func hiddenTools(run *Run) []string {
	if run.Plan.Deferred == nil {
		return nil
	}
	return run.Plan.Deferred.Hidden(run.State.Promoted)
}

// EditRequest leaves hidden tools out.
func (*DeferredToolFilter) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	request.Hide(hiddenTools(run)...)
	return nil
}

// AroundTool refuses hidden tools.
func (*DeferredToolFilter) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if slices.Contains(hiddenTools(run), call.Name) {
		return next(ctx, call, &step.Reply{Error: true, Text: fmt.Sprintf(
			"Error: tool %s is deferred and not promoted. Call %s first, then call it again.", call.Name, agent.ToolSearch)})
	}
	return next(ctx, call, nil)
}
