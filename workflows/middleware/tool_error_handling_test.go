package middleware

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func toolPlan() *agent.Summary {
	return &agent.Summary{Tools: []agent.Brief{{Name: "ls", Class: agent.ClassRead}, {Name: "bash", Class: agent.ClassUnsafe}}}
}

// aCall is a call as the loop dispatches it.
func aCall(plan *agent.Summary, name string) *ToolCall {
	tool, known := plan.Tool(name)
	return &ToolCall{CallDigest: thread.CallDigest{ID: "c1", Name: name}, Tool: tool, Known: known}
}

// handled takes a call through ToolErrorHandling with a tool that ends with err,
// and gives the replies that the handler was called with.
func handled(t *testing.T, plan *agent.Summary, call *ToolCall, failed error) (replies []*step.Reply, err error) {
	t.Helper()
	inWorkflow(t, func(ctx workflow.Context) {
		_, err = (&ToolErrorHandling{}).AroundTool(ctx, &Run{Plan: plan}, call, func(_ workflow.Context, got *ToolCall, reply *step.Reply) (ToolReply, error) {
			require.Same(t, call, got)
			replies = append(replies, reply)
			if reply != nil {
				return ToolReply{}, nil
			}
			return ToolReply{}, failed
		})
	})
	return replies, err
}

func TestAToolThatWorksIsLeftAlone(t *testing.T) {
	t.Parallel()
	replies, err := handled(t, toolPlan(), aCall(toolPlan(), "ls"), nil)
	require.NoError(t, err)
	require.Equal(t, []*step.Reply{nil}, replies)
}

func TestCallsThatCannotBeRunGetAnAnswer(t *testing.T) {
	t.Parallel()
	invalid := aCall(toolPlan(), "bash")
	invalid.Invalid = "the arguments are not valid JSON (12 bytes received): the text ends in the middle"
	for _, tc := range []struct {
		name string
		plan *agent.Summary
		call *ToolCall
		want string
	}{
		{"B04 broken arguments", toolPlan(), invalid, "Error: the arguments are not valid JSON (12 bytes received): the text ends in the middle"},
		{"an unknown tool", toolPlan(), aCall(toolPlan(), "teleport"), `Error: "teleport" is not a tool. Use one of: ls, bash.`},
		{"no tools at all", &agent.Summary{}, aCall(&agent.Summary{}, "ls"), `Error: "ls" is not a tool, and this run has none.`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			replies, err := handled(t, tc.plan, tc.call, errors.New("it was run"))
			require.NoError(t, err)
			require.Equal(t, []*step.Reply{{Text: tc.want, Error: true}}, replies, "the tool is not run")
		})
	}
}

func TestB10AFailedToolIsAResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, tool string
		err        error
		want       string
	}{
		{
			"B10 a read whose worker was lost", "ls", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil),
			"Error: tool ls failed (it did not end in time). Go on with what you know, or choose another tool.",
		},
		{
			"M03 an unsafe one", "bash", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil),
			"Error: the worker was lost while bash ran (it did not end in time). It may have run, in full or in part: check before you repeat it.",
		},
		{
			"M09 an error of its own", "ls", temporal.NewNonRetryableApplicationError("the disk is full", "Disk", errors.New("stack and all")),
			"Error: tool ls failed (the disk is full). Go on with what you know, or choose another tool.",
		},
		{
			"a sandbox that cannot be had: nothing ran", "bash", temporal.NewApplicationError("the sandbox cannot be reached (connection refused)", step.ErrSandboxAway),
			"Error: bash was not run (the sandbox cannot be reached (connection refused)). Go on without it, or try again later.",
		},
		{
			"anything else", "ls", errors.New("rpc error: code = Unavailable"),
			"Error: tool ls failed (its worker did not answer). Go on with what you know, or choose another tool.",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			replies, err := handled(t, toolPlan(), aCall(toolPlan(), tc.tool), tc.err)
			require.NoError(t, err)
			require.Equal(t, []*step.Reply{nil, {Text: tc.want, Error: true}}, replies)
		})
	}
}

func TestWhatEndsARunPassesThroughTools(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]error{
		"a cancel":              temporal.NewCanceledError(),
		"a thread that is gone": temporal.NewNonRetryableApplicationError("deleted", step.ErrThreadGone, nil),
	} {
		replies, err := handled(t, toolPlan(), aCall(toolPlan(), "bash"), failed)
		require.ErrorIs(t, err, failed, name)
		require.Equal(t, []*step.Reply{nil}, replies, name)
	}
	inWorkflow(t, func(ctx workflow.Context) {
		ctx, cancel := workflow.WithCancel(ctx)
		n := 0
		_, err := (&ToolErrorHandling{}).AroundTool(ctx, &Run{Plan: toolPlan()}, aCall(toolPlan(), "bash"), func(workflow.Context, *ToolCall, *step.Reply) (ToolReply, error) {
			n++
			cancel()
			return ToolReply{}, errors.New("killed")
		})
		require.Error(t, err)
		require.Equal(t, 1, n)
	})
}

func TestAResultThatCannotBeStoredIsAFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	inWorkflow(t, func(ctx workflow.Context) {
		_, err := (&ToolErrorHandling{}).AroundTool(ctx, &Run{Plan: toolPlan()}, aCall(toolPlan(), "ls"), func(workflow.Context, *ToolCall, *step.Reply) (ToolReply, error) {
			return ToolReply{}, broken
		})
		require.ErrorIs(t, err, broken)
	})
}
