package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestStopKeepsTheTextAndLeavesAValidHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var stopped *outcomeOf[step.CancelResult]
	w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 && in.Run == "r1" {
			stopped = w.stop(0, step.CancelRun{RunID: "r1"})
			return step.CallModelResult{}, hang(ctx)
		}
		return says("done")
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	again := w.stop(time.Minute, step.CancelRun{RunID: "r1"})
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "go on")
	w.run()
	require.NoError(t, stopped.err)
	require.Error(t, again.err, "a late stop is refused")
	require.Equal(t, thread.RunInterrupted, w.ends()[0].Status)
	require.Len(t, w.commits[0].Seals, 1)
	require.True(t, w.commits[0].Seals[0].Stream)
	require.Equal(t, []thread.Segment{{From: 0, To: 3}}, w.calls[1].Cursor.Segments, "question, half an answer, new question")
}

func TestAStopOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var theirs, owners *outcomeOf[step.CancelResult]
	w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		theirs = w.stop(0, step.CancelRun{RunID: "r1", User: "somebody"})
		owners = w.stop(time.Second, step.CancelRun{RunID: "r1", User: "default"})
		return step.CallModelResult{}, hang(ctx)
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Error(t, theirs.err)
	require.NoError(t, owners.err)
}

func TestB01StopWhileToolsRunGivesEachCallAResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return asks(call("a", "ls"), call("b", "bash"))
	}
	running := make(chan struct{})
	w.tool = func(ctx context.Context, in step.CallToolInput) (step.CallToolResult, error) {
		if in.Name == "ls" {
			<-running
			return step.CallToolResult{}, nil
		}
		close(running)
		return step.CallToolResult{}, hang(ctx)
	}
	// The stop comes when the result of ls has come and bash runs.
	w.env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, err error) {
		if info.ActivityType.Name == step.CallTool && err == nil {
			w.stop(0, step.CancelRun{})
		}
	})
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	seals := w.last().Seals
	require.Len(t, seals, 1)
	require.Equal(t, "b", seals[0].Fallback.ToolCallID)
	require.Equal(t, thread.ToolError, seals[0].Fallback.Status)
	require.Equal(t, []thread.Segment{{From: 0, To: 4}}, w.last().Cursor.Segments)
	require.Len(t, w.calls, 1, "no further model request")
}

func TestRollbackReturnsToTheStateBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run == "r2" {
			w.stop(0, step.CancelRun{RunID: "r2", Action: thread.CancelRollback})
			return step.CallModelResult{}, hang(ctx)
		}
		return says("ok")
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "first")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "second")
	w.submit(3*time.Hour, step.SubmitRun{RunID: "r3"}, "third")
	w.run()
	require.Equal(t, thread.RunError, w.ends()[1].Status)
	require.Equal(t, []thread.Segment{{From: 0, To: 2}}, w.commits[1].Cursor.Segments)
	require.Equal(t, []thread.Segment{{From: 0, To: 2}, {From: 4, To: 5}}, w.calls[2].Cursor.Segments)
}

func TestAQueuedRunCanBeStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	stopped := &outcomeOf[step.CancelResult]{}
	w.together(step.SubmitRun{RunID: "r1"}, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue}, func() {
		w.env.UpdateWorkflow(step.UpdateCancelRun, "cancel", stopped, step.CancelRun{RunID: "r2"})
	})
	w.run()
	require.NoError(t, stopped.err)
	got := map[string]thread.RunStatus{}
	for _, e := range w.ends() {
		got[e.RunID] = e.Status
	}
	require.Equal(t, map[string]thread.RunStatus{"r1": thread.RunSuccess, "r2": thread.RunInterrupted}, got)
	require.Len(t, w.calls, 1)
}

func TestAWaitingThreadCanBeStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return asks(call("q", "ask_clarification"))
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.stop(time.Hour, step.CancelRun{})
	late := w.answer(2*time.Hour, step.Answer{Text: "too late"})
	w.run()
	require.Error(t, late.err)
	require.Equal(t, thread.StatusIdle, w.last().Status)
	require.Empty(t, w.last().Interrupts)
}

func TestACancelOfTheWorkflowIsAStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(ctx context.Context, _ step.CallModelInput) (step.CallModelResult, error) {
		w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 0)
		return step.CallModelResult{}, hang(ctx)
	}
	w.together(step.SubmitRun{RunID: "r1"}, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue})
	w.run()
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, w.env.GetWorkflowError(), &cancelled, "the Web UI shows what was done")
	got := map[string]thread.RunStatus{}
	for _, e := range w.ends() {
		got[e.RunID] = e.Status
	}
	require.Equal(t, map[string]thread.RunStatus{"r1": thread.RunInterrupted, "r2": thread.RunInterrupted}, got)
	require.Equal(t, thread.StatusIdle, w.last().Status)
	require.Len(t, w.calls, 1)
}

func TestACancelOfTheWorkflowClosesAQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return asks(call("q", "ask_clarification"))
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, time.Hour)
	w.run()
	require.Empty(t, w.last().Interrupts)
	require.Equal(t, thread.StatusIdle, w.last().Status)
}

func TestRollbackOfAWaitingQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run == "r1" {
			return says("before")
		}
		return asks(call("q", "ask_clarification"))
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "first")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "ask me")
	w.stop(2*time.Hour, step.CancelRun{RunID: "r2", Action: thread.CancelRollback})
	w.run()
	require.Equal(t, []thread.Segment{{From: 0, To: 2}}, w.last().Cursor.Segments)
	require.Empty(t, w.last().Interrupts)
	require.Equal(t, thread.StatusIdle, w.last().Status)
}
