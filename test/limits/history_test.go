package limits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// history is what the workflow runs of a thread have left, the newest last.
type history struct {
	events  int64 // of the longest
	bytes   int64 // of the largest
	carried int   // bytes of the largest state that was carried
	runs    int
}

func historyOf(t *testing.T, c client.Client, threadID string) history {
	t.Helper()
	ctx := patient(t)
	var h history
	d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(threadID), "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.GetWorkflowExecutionInfo().GetStatus())
	for runID := d.GetWorkflowExecutionInfo().GetExecution().GetRunId(); runID != ""; h.runs++ {
		d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(threadID), runID)
		require.NoError(t, err)
		h.events = max(h.events, d.GetWorkflowExecutionInfo().GetHistoryLength())
		h.bytes = max(h.bytes, d.GetWorkflowExecutionInfo().GetHistorySizeBytes())
		events := c.GetWorkflowHistory(ctx, thread.WorkflowID(threadID), runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		require.True(t, events.HasNext())
		first, err := events.Next()
		require.NoError(t, err)
		started := first.GetWorkflowExecutionStartedEventAttributes()
		for _, payload := range started.GetInput().GetPayloads() {
			h.carried = max(h.carried, len(payload.GetData()))
		}
		runID = started.GetContinuedExecutionRunId()
	}
	return h
}

// M07, M01: a long run with large results, and one with many tokens, leave small
// histories: the workflow continues as new in time and carries little.
func TestM07LongThreadsKeepSmallHistories(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	const steps = 300
	m.On(testkit.LastUser("many steps")).Respond(func(r *testkit.Request) testkit.Reply {
		if r.Turn() == steps {
			return testkit.Text("done")
		}
		size := 200 // bytes
		if r.Turn()%10 == 0 {
			size = 60_000 // of which the tool keeps a third
		}
		return testkit.ToolCalls(bash(fmt.Sprint("s", r.Turn()), fmt.Sprintf("echo %d; head -c %d /dev/zero | tr '\\0' x", r.Turn(), size)))
	})
	const tokens = 100_000
	m.On(testkit.LastUser("many words")).Always(testkit.Text(strings.Repeat("word ", tokens/10), testkit.WithChunks(tokens/50)))
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m,
		"thread:\n  max_turns: 400\nloop_detection:\n  enabled: false")})
	api := p.API()
	c := dial(t, p.Temporal)

	id := newThread(t, api)
	request := testkit.SayWatched("many steps")
	request.Config = map[string]any{"recursion_limit": 400}
	require.Equal(t, "success", run(t, api, id, request).Status)
	require.Len(t, messages(t, api, id), 1+2*steps+1)
	h := historyOf(t, c, id)
	t.Logf("%d steps: %+v", steps, h)
	require.Greater(t, h.runs, 1)
	require.Less(t, h.events, int64(2500))
	require.Less(t, h.bytes, int64(2<<20))
	require.Less(t, h.carried, 64<<10)
	require.Equal(t, "success", run(t, api, id, testkit.SayWatched("and now?")).Status)

	id = newThread(t, api)
	for range 10 {
		require.Equal(t, "success", run(t, api, id, testkit.SayWatched("many words")).Status)
	}
	h = historyOf(t, c, id)
	t.Logf("%d tokens: %+v", tokens, h)
	require.Less(t, h.events, int64(500), "none of it grows with the tokens")
	require.Less(t, h.bytes, int64(256<<10))
}
