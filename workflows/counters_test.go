package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// sameCall is a call that looks the same in every turn.
func sameCall() (step.CallModelResult, error) {
	c := call("a", "ls")
	c.Key = "same"
	return asks(c)
}

func nothing(context.Context, step.CallToolInput) (step.CallToolResult, error) {
	return step.CallToolResult{}, nil
}

// warned lists which model calls carried a loop warning, counted from 1.
func (w *world) warned() []int {
	var out []int
	for i, in := range w.calls {
		if hasEdit(in, "loop_warning") {
			out = append(out, i+1)
		}
	}
	return out
}

func TestC05TheCountersGoOnInTheNextWorkflowRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 3 {
			w.env.SetContinueAsNewSuggested(true)
		}
		return sameCall()
	}
	w.tool = nothing
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	require.Empty(t, w.warned())

	var in step.ThreadInput
	require.NoError(t, carriedInput(next, &in))
	w2 := newWorld(t)
	w2.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return sameCall() }
	w2.tool = nothing
	w2.runWith(in)
	require.Equal(t, []int{1}, w2.warned(), "a warning that was due is carried")
	require.Len(t, w2.calls, 2, "three before, two now")
	require.Equal(t, thread.StopLoopCapped, w2.ends()[0].StopReason)
}

func TestC05TheCountersAreInTheCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return sameCall() }
	w.tool = nothing
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Len(t, w.calls, 5)
	head := w.commits[2] // the last that came before the warning

	w2 := newWorld(t)
	w2.head = step.LoadThreadResult{Plan: &w.plan, Head: &step.Head{
		ID: head.CheckpointID, Data: head.Checkpoint, Cursor: head.Cursor, NextPos: head.NextPos, State: head.State, Status: head.Status,
	}}
	w2.model = w.model
	w2.tool = nothing
	w2.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w2.run()
	require.Equal(t, []int{1}, w2.warned())
	require.Len(t, w2.calls, 2, "three before, two now")
	require.Equal(t, thread.StopLoopCapped, w2.ends()[0].StopReason)
}

func TestC05TheCountersWaitWithTheQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 4 {
			return asks(call("q", "ask_clarification"))
		}
		return sameCall()
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) {
		if in.Name == "ask_clarification" {
			return question(in.Call)
		}
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.submit(24*time.Hour, step.SubmitRun{RunID: "r2"}, "blue")
	w.run()
	require.Equal(t, []int{4}, w.warned(), "once, not again after the answer")
	require.Len(t, w.calls, 6, "three and two of the same, and a question between")
	require.Equal(t, thread.StopLoopCapped, w.ends()[1].StopReason)
}

func TestC05ANewQuestionStartsFromZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 5 {
			return says("done")
		}
		return sameCall()
	}
	w.tool = nothing
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "two")
	w.run()
	require.Equal(t, []int{4, 9}, w.warned())
	require.Len(t, w.calls, 10)
	for _, end := range w.ends() {
		require.Empty(t, end.StopReason)
	}
}

func TestTheCommitOfATurnDoesNotGrow(t *testing.T) {
	t.Parallel()
	const turns = 120
	w := newWorld(t)
	w.plan.MaxTurns = turns + 1
	w.plan.Tools = nil
	for i := range 7 {
		w.plan.Tools = append(w.plan.Tools, agent.Brief{Name: fmt.Sprint("tool", i), Class: agent.ClassRead})
	}
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn > turns {
			return says("done")
		}
		c := call("a", fmt.Sprint("tool", in.Turn%7))
		c.Key = in.MessageID
		return asks(c)
	}
	w.tool = nothing
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Len(t, w.commits, turns+1)
	size := func(c step.CommitInput) int {
		data, err := json.Marshal(c)
		require.NoError(t, err)
		return len(data)
	}
	require.LessOrEqual(t, size(w.commits[turns-1]), size(w.commits[turns/2])*11/10)
	require.LessOrEqual(t, size(w.commits[turns-1]), 2000)
}

func TestM09ARunThatCannotStartFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	refused := false
	w.env.OnActivity(step.StartRun, mock.Anything, mock.Anything).Return(func(ctx context.Context, in step.StartRunInput) (step.StartRunResult, error) {
		if !refused {
			refused = true
			return step.StartRunResult{}, temporal.NewNonRetryableApplicationError("model \"gone\" is not configured", step.ErrRunRefused, nil)
		}
		return w.startRun(ctx, in)
	})
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "two")
	w.run()
	require.NoError(t, w.env.GetWorkflowError())
	ends := w.ends()
	require.Len(t, ends, 2)
	require.Equal(t, thread.RunError, ends[0].Status)
	require.Equal(t, `model "gone" is not configured`, ends[0].Error)
	require.Equal(t, thread.RunSuccess, ends[1].Status, "the thread lives on")
	require.Len(t, w.calls, 1)
}

func TestM09AnUpdateThatCannotBeTakenFailsTheRunAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run == "r1" {
			return asks(call("a", "ls"), call("b", "ls"))
		}
		return says("ok")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{State: thread.StateUpdate{Sandbox: &thread.SandboxRef{ID: in.Call}}}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "two")
	w.run()
	require.NoError(t, w.env.GetWorkflowError())
	ends := w.ends()
	require.Equal(t, thread.RunError, ends[0].Status)
	require.Contains(t, ends[0].Error, "conflicting sandbox updates")
	require.Equal(t, "a", w.commits[0].State.Sandbox.ID, "the first one stays")
	require.Equal(t, []thread.Segment{{From: 0, To: 4}}, w.commits[0].Cursor.Segments, "both results stand in the transcript")
	require.Equal(t, thread.RunSuccess, ends[1].Status)
}
