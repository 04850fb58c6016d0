package middleware

import (
	"go.temporal.io/sdk/workflow"
)

// Sandbox keeps a thread in one sandbox. The first tool that needs one gets it,
// and its result carries the id into the state; from then on every call names
// that id, and a tool that would work in another one is not run. Two first calls
// of one message that come with two ids end the run: the state fails closed.
type Sandbox struct{ Base }

// Name is Sandbox.
func (*Sandbox) Name() string { return NameSandbox }

// AroundTool tells the activity which sandbox it must be.
func (*Sandbox) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if ref := run.State.Sandbox; ref != nil {
		call.Rules.Sandbox = ref.ID
	}
	return next(ctx, call, nil)
}
