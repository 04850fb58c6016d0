package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// around takes a call through one middleware, and gives the reply that took the
// tool's place, nil when the tool was run, and the rules that it was run by.
func around(t *testing.T, m Middleware, run *Run, call *ToolCall) (reply *step.Reply, rules step.ToolRules) {
	t.Helper()
	times := 0
	inWorkflow(t, func(ctx workflow.Context) {
		_, err := m.AroundTool(ctx, run, call, func(_ workflow.Context, got *ToolCall, r *step.Reply) (ToolReply, error) {
			times++
			reply, rules = r, got.Rules
			return ToolReply{}, nil
		})
		require.NoError(t, err)
	})
	require.Equal(t, 1, times, "exactly one result")
	return reply, rules
}

// runOf is a run of a plan.
func runOf(plan agent.Summary) *Run { return &Run{RunID: "r2", Plan: &plan} }

// callOf is a call of a tool that the plan has.
func callOf(name string) *ToolCall {
	return &ToolCall{CallDigest: thread.CallDigest{ID: "c1", Name: name}, Known: true}
}

// edited are the edits and hidden tools that a middleware asks for.
func edited(t *testing.T, m Middleware, run *Run) *Request {
	t.Helper()
	request := &Request{}
	require.NoError(t, m.EditRequest(nil, run, request))
	return request
}
