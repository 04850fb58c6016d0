package middleware

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestAQuestionIsWaitedWith(t *testing.T) {
	t.Parallel()
	card := &thread.Interrupt{ID: "clarification:c1"}
	off := thread.RunOptions{DisableClarification: true}
	for _, tc := range []struct {
		name    string
		tool    string
		options thread.RunOptions
		rule    agent.ClarificationRule
		result  step.CallToolResult
		err     error
		wait    bool
		reply   *step.Reply
	}{
		{name: "a question", tool: ToolAskClarification, result: step.CallToolResult{Interrupt: card}, wait: true},
		{name: "a question that could not be made", tool: ToolAskClarification, result: step.CallToolResult{Message: thread.Digest{Error: true}}},
		{name: "a question whose worker was lost", tool: ToolAskClarification, result: step.CallToolResult{Interrupt: card}, err: errors.New("lost")},
		{name: "disabled by the run", tool: ToolAskClarification, options: off, reply: &step.Reply{Text: proceedAlone}},
		{name: "disabled by the config", tool: ToolAskClarification, rule: agent.ClarificationRule{Disabled: true}, reply: &step.Reply{Text: proceedAlone}},
		{name: "another tool", tool: "ls", result: step.CallToolResult{Interrupt: card}},
		{name: "another tool of a run that may not ask", tool: "ls", options: off},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			run := &Run{Plan: &agent.Summary{Clarification: tc.rule}, Options: tc.options}
			var got *step.Reply
			reply, err := (&Clarification{}).AroundTool(nil, run, &ToolCall{CallDigest: thread.CallDigest{Name: tc.tool}},
				func(_ workflow.Context, _ *ToolCall, r *step.Reply) (ToolReply, error) {
					got = r
					return ToolReply{CallToolResult: tc.result}, tc.err
				})
			require.Equal(t, tc.err, err)
			require.Equal(t, tc.wait, reply.Wait)
			require.Equal(t, tc.reply, got)
			require.Equal(t, tc.result, reply.CallToolResult)
		})
	}
	require.Contains(t, proceedAlone, "go on", "the model is told not to wait")
	require.Contains(t, proceedAlone, "best judgement")
}

// A question and its siblings in the whole chain: the failures around it are
// results, too, and only the question itself is waited with.
func TestAQuestionInTheLeadChain(t *testing.T) {
	t.Parallel()
	plan := &agent.Summary{Tools: []agent.Brief{{Name: ToolAskClarification}, {Name: "ls"}}}
	run := &Run{Plan: plan}
	chain, err := Lead(nil, plan)
	require.NoError(t, err)
	inWorkflow(t, func(ctx workflow.Context) {
		reply, err := chain.Tool(ctx, run, aCall(plan, ToolAskClarification), func(_ workflow.Context, _ *ToolCall, r *step.Reply) (ToolReply, error) {
			require.Nil(t, r)
			return ToolReply{CallToolResult: step.CallToolResult{Interrupt: &thread.Interrupt{ID: "q"}}}, nil
		})
		require.NoError(t, err)
		require.True(t, reply.Wait)

		var got []*step.Reply
		reply, err = chain.Tool(ctx, run, aCall(plan, ToolAskClarification), func(_ workflow.Context, _ *ToolCall, r *step.Reply) (ToolReply, error) {
			got = append(got, r)
			if r == nil {
				return ToolReply{}, errors.New("lost")
			}
			return ToolReply{}, nil
		})
		require.NoError(t, err)
		require.False(t, reply.Wait)
		require.Len(t, got, 2)
		require.True(t, got[1].Error)
	})
}
