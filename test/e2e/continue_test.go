package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

func TestContinueAsNewInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	inBothShapes(t, continueAsNewInTheMiddleOfARun)
}

func continueAsNewInTheMiddleOfARun(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	const turns = 8
	m.Respond(func(r *testkit.Request) testkit.Reply {
		if r.Turn() == turns {
			return testkit.Text("looked everywhere")
		}
		return testkit.ToolCalls(testkit.Call{ID: fmt.Sprintf("c%d", r.Turn()), Name: "glob", Args: map[string]any{
			"description": "look", "path": "/mnt/user-data", "pattern": fmt.Sprintf("*.%d", r.Turn()),
		}})
	})
	p := start(testkit.ConfigFor(m, "thread:\n  continue_as_new_events: 20"))
	ctx := patient(t)
	th, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, th.ThreadID, testkit.SayWatched("look for it"))
	require.NoError(t, err)
	defer stream.Close()
	queued := testkit.SayWatched("and then?")
	queued.MultitaskStrategy = "enqueue"
	next, err := p.API().CreateRun(ctx, th.ThreadID, queued)
	require.NoError(t, err)
	frames, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	noDoubles(t, frames)
	run, err := p.API().AwaitRun(ctx, th.ThreadID, next.RunID, "success")
	require.NoError(t, err)
	require.Equal(t, "success", run.Status)
	list := messages(t, p.API(), th.ThreadID)
	require.Len(t, list, 2*turns+2+2*turns+2, "M08: nothing is lost and nothing doubled")

	c, err := client.Dial(client.Options{HostPort: p.Temporal()})
	require.NoError(t, err)
	defer c.Close()
	d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(th.ThreadID), "")
	require.NoError(t, err)
	require.NotEqual(t, d.GetWorkflowExecutionInfo().GetFirstRunId(), d.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "the workflow continued as new")
}
