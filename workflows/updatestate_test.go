package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestAStateIsUpdatedBetweenRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	title := "Renamed"
	fresh := w.update(0, step.UpdateState{ID: "update-1", Title: &title})
	w.submit(time.Hour, step.SubmitRun{RunID: "r1"}, "what is it?")
	again := w.update(2*time.Hour, step.UpdateState{
		ID: "update-2", Artifacts: &step.Replaced{Paths: []string{"/mnt/user-data/outputs/a.md"}},
		Remove:   []string{"r1-2"},
		Messages: []thread.Message{thread.Human("r1-in-0", "something else"), thread.Human("new", "added")},
	})
	odd := w.update(3*time.Hour, step.UpdateState{ID: "r1"})
	w.env.RegisterDelayedCallback(func() {
		require.Len(t, w.commits, 3)
		c := w.last()
		require.Equal(t, "update-2", c.Run)
		require.Equal(t, "Renamed", c.State.Title)
		require.Equal(t, []string{"/mnt/user-data/outputs/a.md"}, c.State.Artifacts)
		require.Equal(t, thread.StatusIdle, c.Status)
		require.Equal(t, w.commits[1].CheckpointID, c.Parent)
		require.Equal(t, int64(0), c.Messages[0].Pos, "a known message stays in its place")
		require.Equal(t, int64(2), c.Messages[1].Pos)
	}, 4*time.Hour)
	w.submit(5*time.Hour, step.SubmitRun{RunID: "r2"}, "and now?")
	w.run()
	require.NoError(t, fresh.err)
	require.Equal(t, w.commits[0].CheckpointID, fresh.value.CheckpointID)
	require.Equal(t, &title, w.commits[0].Update.Title)
	require.NoError(t, again.err)
	require.Equal(t, w.commits[2].CheckpointID, again.value.CheckpointID)
	require.Error(t, odd.err, "an id that is no update's")
	require.Equal(t, []thread.Segment{{From: 0, To: 4}}, w.calls[1].Cursor.Segments)
}

func TestMessagesLeaveTheView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.env.RegisterDelayedCallback(func() {
		answer := thread.MessageID("r1", w.calls[0].Step)
		out := &outcomeOf[step.UpdateStateResult]{}
		w.env.UpdateWorkflow(step.UpdateSetState, "update-1", out, step.UpdateState{ID: "update-1", Remove: []string{answer}})
	}, time.Hour)
	w.env.RegisterDelayedCallback(func() {
		require.Equal(t, []thread.Segment{{From: 0, To: 1}}, w.last().Cursor.Segments)
	}, 2*time.Hour)
	w.update(3*time.Hour, step.UpdateState{ID: "update-2", Clear: true, Messages: []thread.Message{thread.Human("h", "anew")}})
	w.submit(4*time.Hour, step.SubmitRun{RunID: "r2"}, "two")
	w.run()
	require.Equal(t, []thread.Segment{{From: 2, To: 4}}, w.calls[1].Cursor.Segments)
}

func TestAnActiveRunRefusesUpdatesOfTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	title := "No"
	var early *outcomeOf[step.UpdateStateResult]
	w.model = func(ctx context.Context, _ step.CallModelInput) (step.CallModelResult, error) {
		early = w.update(0, step.UpdateState{ID: "update-1", Title: &title})
		w.stop(0, step.CancelRun{})
		return step.CallModelResult{}, hang(ctx)
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.run()
	require.ErrorContains(t, early.err, "has a run in flight")
	require.Empty(t, w.last().State.Title)
}

func TestAQuestionOutlivesAnUpdateOfTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			return asks(call("q", "ask_clarification"))
		}
		return says("done")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	title := "Waiting"
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	renamed := w.update(time.Hour, step.UpdateState{ID: "update-1", Title: &title})
	w.env.RegisterDelayedCallback(func() {
		require.Equal(t, thread.StatusInterrupted, w.last().Status)
		require.Len(t, w.last().Interrupts, 1)
		require.Equal(t, []string{"tools"}, w.last().Next)
	}, 2*time.Hour)
	w.submit(3*time.Hour, step.SubmitRun{RunID: "r2"}, "the second")
	w.run()
	require.NoError(t, renamed.err)
	require.Equal(t, 2, w.calls[1].Turn)
	require.Equal(t, "Waiting", w.last().State.Title)
}

// A thread whose state cannot be stored tells whoever waits for it.
func TestAnUpdateWaitsOutABrokenDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken = 2
	title := "Late"
	out := w.update(0, step.UpdateState{ID: "update-1", Title: &title})
	w.run()
	require.NoError(t, out.err)
	require.Equal(t, "Late", w.last().State.Title)
}
