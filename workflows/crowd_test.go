package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// The updates of one workflow run are numbered: a thread on which nothing runs
// continues as new before they are used up, and loses none.
func TestAnIdleThreadContinuesAsNewByItsUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var outs []*outcomeOf[step.UpdateStateResult]
	var send func()
	send = func() {
		n := len(outs)
		title := fmt.Sprint("title ", n)
		out := w.update(0, step.UpdateState{ID: fmt.Sprint("update-", n), Title: &title})
		if outs = append(outs, out); len(outs) < renewAfter {
			out.then = []func(){send}
		}
	}
	send()
	w.runWith(step.ThreadInput{Version: 1, Thread: "t1", User: "default"})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	require.Len(t, w.commits, renewAfter)
	for _, out := range outs {
		require.NoError(t, out.err)
		require.True(t, out.complete)
	}
	var in step.ThreadInput
	require.NoError(t, carriedInput(next, &in))
	require.Less(t, len(in.Carried), 64<<10)
	var carried threadState
	require.NoError(t, json.Unmarshal(in.Carried, &carried))
	require.Equal(t, fmt.Sprint("title ", renewAfter-1), carried.State.Title)
}

// While one turn lasts, what waits is bounded, also what was dropped meanwhile; a
// stop gets through, and a second one costs nothing.
func TestAStopFindsRoomWhateverWasSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const sent = longestQueue + 20
	var submits []*outcomeOf[step.SubmitResult]
	var stopped, again *outcomeOf[step.CancelResult]
	w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run != "r1" {
			return says("ok")
		}
		for i := range sent {
			id := fmt.Sprint("waits-", i)
			submits = append(submits, w.submit(0, step.SubmitRun{RunID: id, Multitask: thread.MultitaskEnqueue}, "me too"))
			w.env.RegisterDelayedCallback(func() {
				w.env.UpdateWorkflow(step.UpdateCancelRun, "drop-"+id, &outcomeOf[step.CancelResult]{}, step.CancelRun{RunID: id})
			}, 0)
		}
		stopped = w.stop(0, step.CancelRun{RunID: "r1"})
		w.env.RegisterDelayedCallback(func() {
			again = &outcomeOf[step.CancelResult]{}
			w.env.UpdateWorkflow(step.UpdateCancelRun, "again", again, step.CancelRun{RunID: "r1"})
		}, 0)
		return step.CallModelResult{}, hang(ctx)
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.NoError(t, stopped.err)
	require.True(t, again.err == nil || typed(again.err, step.ErrDuplicate) || typed(again.err, step.ErrNotCancellable), "%v", again.err)
	taken := 0
	for _, out := range submits {
		if out.err == nil {
			taken++
			continue
		}
		require.True(t, typed(out.err, step.ErrCrowded), "%v", out.err)
	}
	require.LessOrEqual(t, taken, longestQueue, "a dropped run waits too, until its row is ended")
	require.Equal(t, thread.RunInterrupted, w.ends()[0].Status)
}

// The last updates of a workflow run are kept for stops and answers.
func TestUpdatesAreKeptForStops(t *testing.T) {
	t.Parallel()
	c := &conversation{taken: mostTaken - reserved - 1}
	require.NoError(t, c.crowded())
	c.taken++
	require.True(t, typed(c.crowded(), step.ErrCrowded))
	require.True(t, typed(c.editable(), step.ErrCrowded))
}

func TestWhatIsCarriedIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := make([]string, 2000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/mnt/user-data/outputs/chapter-%04d.md", i)
	}
	var queued []*outcomeOf[step.SubmitResult]
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn < 10 {
			return asks(call(fmt.Sprint(in.Turn), "ls"))
		}
		for i := range longestQueue + 10 {
			queued = append(queued, w.submit(0, step.SubmitRun{
				RunID: fmt.Sprintf("%08d-aaaa-bbbb-cccc-%012d", i, i), Multitask: thread.MultitaskEnqueue,
				Options: thread.RunOptions{AgentName: strings.Repeat("a", 64), ReasoningEffort: strings.Repeat("e", 32)},
			}, "me too"))
		}
		w.env.SetContinueAsNewSuggested(true)
		return asks(call("last", "ls"))
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		some := paths[:min(200, len(paths))]
		paths = paths[len(some):]
		return step.CallToolResult{State: thread.StateUpdate{Artifacts: some}}, nil
	}
	newest := paths[len(paths)-1]
	w.plan.Loop.Enabled = false
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	var in step.ThreadInput
	require.NoError(t, carriedInput(next, &in))
	require.Less(t, len(in.Carried), 64<<10)
	var carried threadState
	require.NoError(t, json.Unmarshal(in.Carried, &carried))
	require.Equal(t, newest, carried.State.Artifacts[len(carried.State.Artifacts)-1], "the newest stay")
	refused := 0
	for _, out := range queued {
		if out.err != nil {
			refused++
			require.True(t, typed(out.err, step.ErrCrowded))
			require.ErrorContains(t, out.err, fmt.Sprintf("%d runs wait", longestQueue))
		}
	}
	require.Equal(t, 10, refused)
}

func TestAnAnswerFromOutsideIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run == "r1" {
			return asks(call("q", "ask_clarification"))
		}
		return says("ok")
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) { return question("q") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	long := w.answer(time.Hour, step.Answer{Text: strings.Repeat("x", longestAnswer+1)})
	w.env.RegisterDelayedCallback(func() {
		w.env.SignalWorkflow(step.SignalAnswer, step.Answer{Text: strings.Repeat("x", 256<<10)})
	}, 2*time.Hour)
	w.env.RegisterDelayedCallback(func() {
		value, err := w.env.QueryWorkflow(step.QueryStatus)
		require.NoError(t, err)
		var report StatusReport
		require.NoError(t, value.Get(&report))
		require.Contains(t, report.Notice, "262144 bytes")
		require.Equal(t, thread.StatusInterrupted, report.Status)
	}, 3*time.Hour)
	short := w.answer(4*time.Hour, step.Answer{Text: strings.Repeat("x", longestAnswer)})
	w.run()
	require.ErrorContains(t, long.err, fmt.Sprint(longestAnswer))
	require.NoError(t, short.err)
	require.Len(t, w.started, 2)
}

// A database that is away costs a model or a tool none of its tries: the step is
// asked for again when it is back, and people see what is being waited for.
func TestADatabaseThatIsAwayIsOutlasted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan.ModelCall.MaxAttempts = 1
	const outages = 7
	models, tools := 0, 0
	away := temporal.NewNonRetryableApplicationError("the database is not available", step.ErrStoreAway, nil)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if models++; models <= outages {
			return step.CallModelResult{}, away
		}
		if in.Turn == 1 {
			return asks(call("a", "bash"))
		}
		return says("done")
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		if tools++; tools <= outages {
			return step.CallToolResult{}, away
		}
		return step.CallToolResult{}, nil
	}
	w.env.RegisterDelayedCallback(func() {
		value, err := w.env.QueryWorkflow(step.QueryStatus)
		require.NoError(t, err)
		var report StatusReport
		require.NoError(t, value.Get(&report))
		require.Contains(t, report.Notice, "database does not answer")
	}, 10*time.Second)
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Equal(t, thread.RunSuccess, w.ends()[0].Status)
	require.Equal(t, outages+2, models)
	require.Equal(t, outages+1, tools)
	for _, in := range w.tooled {
		require.Nil(t, in.Reply, "no reply stands in for the tool")
	}
}
