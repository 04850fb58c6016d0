package workflows

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// A workflow that has fallen behind the store starts anew from the checkpoint,
// with what waits.
func TestAWorkflowThatWasOvertakenStartsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return step.CallModelResult{}, temporal.NewNonRetryableApplicationError("another checkpoint", step.ErrOvertaken, nil)
	}
	w.together(step.SubmitRun{RunID: "r1"}, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue})
	w.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	var in step.ThreadInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Nil(t, in.Carried, "the store knows better")
	var rest waiting
	require.NoError(t, json.Unmarshal(in.Waiting, &rest))
	require.Len(t, rest.Queue, 1)
	require.Equal(t, "r2", rest.Queue[0].RunID)
	require.Empty(t, w.commits, "nothing is stored on the way")
}

// Whoever waits for an update of the state when the thread starts anew is told
// so: its handler must not keep the workflow from it.
func TestAnUpdateThatWaitsIsAnsweredWhenTheThreadStartsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return asks(call("q", "ask_clarification"))
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) { return question("q") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	stopped, edited := &outcomeOf[step.CancelResult]{}, &outcomeOf[step.UpdateStateResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.mu.Lock()
		w.refusal = temporal.NewNonRetryableApplicationError("another checkpoint", step.ErrOvertaken, nil)
		w.mu.Unlock()
		title := "new"
		w.env.UpdateWorkflow(step.UpdateCancelRun, "stop", stopped, step.CancelRun{RunID: "r1"})
		w.env.UpdateWorkflow(step.UpdateSetState, "edit", edited, step.UpdateState{ID: thread.UpdatePrefix + "1", Title: &title})
	}, time.Hour)
	w.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	require.NoError(t, stopped.err)
	require.True(t, edited.complete)
	require.ErrorContains(t, edited.err, "ask again")
}

func TestWhatWaitedIsTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	data, err := json.Marshal(waiting{
		Queue:  []queuedRun{{SubmitRun: step.SubmitRun{RunID: "r1"}}, {SubmitRun: step.SubmitRun{RunID: "r2"}}},
		Cancel: &step.CancelRun{RunID: "r2"},
	})
	require.NoError(t, err)
	w.submit(time.Hour, step.SubmitRun{RunID: "r3"}, "go on")
	w.runWith(step.ThreadInput{Version: 1, Thread: "t1", User: "default", Settings: step.ThreadSettings{IdleTimeout: 100 * time.Hour}, Waiting: data})
	got := map[string]thread.RunStatus{}
	for _, e := range w.ends() {
		got[e.RunID] = e.Status
	}
	require.Equal(t, map[string]thread.RunStatus{"r1": thread.RunSuccess, "r2": thread.RunInterrupted, "r3": thread.RunSuccess}, got)
}
