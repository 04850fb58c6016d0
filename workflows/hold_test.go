package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// newerLoop is the head of a thread whose loop was begun by a later version.
func newerLoop(waiting bool) *step.Head {
	head := &step.Head{ID: "c1", Status: thread.StatusBusy, NextPos: 2, Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: 2}}}}
	head.Data = json.RawMessage(fmt.Sprintf(`{"version":%d,"loop":{"version":%d,"run_id":"r1","turn":3,"step":4,"started":true,"waiting":%t,"memory":{"of a later version":1}}}`,
		stateVersion, loopVersion+1, waiting))
	if waiting {
		head.Status, head.Interrupts = thread.StatusInterrupted, []thread.Interrupt{{ID: "q1"}}
	}
	return head
}

// isHeld checks that a workflow left everything to a newer program.
func isHeld(w *world) {
	w.t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(w.t, w.env.GetWorkflowError(), &app)
	require.Equal(w.t, step.ErrNewer, app.Type(), app.Message())
	require.Empty(w.t, w.commits)
	require.Empty(w.t, w.calls)
}

func refusedAsNewer(t *testing.T, err error) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, step.ErrNewer, app.Type())
	require.ErrorContains(t, err, "begun by a newer one")
}

func TestWorkOfANewerProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *world){
		"a loop":            func(w *world) { w.head.Head = newerLoop(false) },
		"a loop that waits": func(w *world) { w.head.Head = newerLoop(true) },
		"a first turn": func(w *world) {
			w.head.Running = []step.RunningRun{{SubmitRun: step.SubmitRun{RunID: "r1"}, LoopVersion: loopVersion + 1}}
		},
		"a state not readable": func(w *world) { w.head.Head = &step.Head{ID: "c1", Data: json.RawMessage(`{"version":99}`)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(w)
			next := w.submit(0, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue}, "two")
			edit := w.update(0, step.UpdateState{ID: thread.UpdatePrefix + "1"})
			answer := w.answer(0, step.Answer{Text: "blue"})
			w.run()
			isHeld(w)
			refusedAsNewer(t, next.err)
			refusedAsNewer(t, edit.err)
			refusedAsNewer(t, answer.err)
		})
	}
}

func TestWorkOfANewerProgramCanBeStopped(t *testing.T) {
	t.Parallel()
	firstTurn := step.LoadThreadResult{Running: []step.RunningRun{{SubmitRun: step.SubmitRun{RunID: "r1"}, LoopVersion: loopVersion + 1}}}
	interrupt := func(w *world) error {
		return w.submit(0, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskInterrupt}, "two").err
	}
	stop := func(w *world) error { return w.stop(0, step.CancelRun{RunID: "r1"}).err }
	for name, c := range map[string]struct {
		head step.LoadThreadResult
		end  func(w *world) error
	}{
		"by a stop":                                {step.LoadThreadResult{Head: newerLoop(false)}, stop},
		"by a run in its place":                    {step.LoadThreadResult{Head: newerLoop(false)}, interrupt},
		"in its first turn, by a stop":             {firstTurn, stop},
		"in its first turn, by a run in its place": {firstTurn, interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.head = c.head
			w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
			require.NoError(t, c.end(w))
			after := w.submit(time.Minute, step.SubmitRun{RunID: "r3"}, "three")
			w.run()
			require.NoError(t, w.env.GetWorkflowError())
			require.Equal(t, thread.End{RunID: "r1", Status: thread.RunInterrupted, StopReason: thread.StopCancelled}, w.ends()[0])
			require.NoError(t, after.err)
			last := w.ends()[len(w.ends())-1]
			require.Equal(t, "r3", last.RunID)
			require.Equal(t, thread.RunSuccess, last.Status, "the thread can be used again")
		})
	}
}

func TestAQuestionOfANewerProgramCanBeClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.head.Head = newerLoop(true)
	closed := w.stop(0, step.CancelRun{RunID: "r1"})
	w.run()
	require.NoError(t, closed.err)
	require.NoError(t, w.env.GetWorkflowError())
	require.Empty(t, w.last().Interrupts)
	require.Equal(t, thread.StatusIdle, w.last().Status)
}

// The history of a newer program has its version in the result of StartRun: an
// older one ends there, before it does something else than is recorded.
func TestTheRecordedVersionCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ahead = 1
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Equal(t, loopVersion, w.started[0].LoopVersion, "new runs begin with the newest version")
	isHeld(w)
}

func TestCarriedWorkOfANewerProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, carried := range []string{
		fmt.Sprintf(`{"version":%d,"loop":{"version":%d,"run_id":"r1","started":true}}`, stateVersion, loopVersion+1),
		fmt.Sprintf(`{"version":%d}`, stateVersion+1),
	} {
		w := newWorld(t)
		w.runWith(step.ThreadInput{Version: 1, Thread: "t1", User: "default", Carried: json.RawMessage(carried)})
		isHeld(w)
	}
}

// A run that lost its workflow in its first turn goes on with the version that
// it began with.
func TestARunKeepsItsVersionWithoutACheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.head.Running = []step.RunningRun{{SubmitRun: step.SubmitRun{RunID: "r1"}}}
	w.texts["r1"] = []string{"one"}
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	w.run()
	require.Equal(t, firstLoop, w.started[0].LoopVersion)
}
