package workflows

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestAQuestionGetsAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	out := w.submit(0, step.SubmitRun{RunID: "r1"}, "what is it?")
	w.run()
	require.NoError(t, w.env.GetWorkflowError(), "an idle thread completes")
	require.NoError(t, out.err)
	require.Len(t, w.calls, 1)
	require.Equal(t, []thread.Segment{{From: 0, To: 1}}, w.calls[0].Cursor.Segments)
	last := w.last()
	require.Equal(t, thread.StatusIdle, last.Status)
	require.Equal(t, []thread.Segment{{From: 0, To: 2}}, last.Cursor.Segments)
	require.Equal(t, []thread.End{{RunID: "r1", Status: thread.RunSuccess, Usage: thread.Usage{TotalTokens: 10}, ModelCalls: 1}}, last.Ends)
	require.Len(t, w.commits, 1, "a turn with nothing to do costs one commit, at the end")
}

func TestToolsRunTogetherAndResultsStandInCallOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			return asks(call("a", "ls"), call("b", "ls"), call("c", "bash"))
		}
		return says("done")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{State: thread.StateUpdate{Artifacts: []string{"/mnt/user-data/outputs/" + in.Call}}}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Len(t, w.tooled, 3)
	require.Len(t, w.calls, 2)
	require.Equal(t, []thread.Segment{{From: 0, To: 5}}, w.calls[1].Cursor.Segments, "question, call, three results")
	require.NotNil(t, w.calls[1].Commit, "the turn's commit rides on the next model call")
	require.Nil(t, w.calls[0].Commit)
	require.Equal(t, []string{"/mnt/user-data/outputs/a", "/mnt/user-data/outputs/b", "/mnt/user-data/outputs/c"}, w.last().State.Artifacts)
	require.Len(t, w.commits, 2)
}

func TestRunsAgainstEachOther(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		strategy thread.Multitask
		refused  bool
		ends     []thread.RunStatus
	}{
		{thread.MultitaskReject, true, []thread.RunStatus{thread.RunSuccess}},
		{"", true, []thread.RunStatus{thread.RunSuccess}},
		{thread.MultitaskEnqueue, false, []thread.RunStatus{thread.RunSuccess, thread.RunSuccess}},
		{thread.MultitaskInterrupt, false, []thread.RunStatus{thread.RunInterrupted, thread.RunSuccess}},
		{thread.MultitaskRollback, false, []thread.RunStatus{thread.RunError, thread.RunSuccess}},
	} {
		t.Run("E08 "+string(tc.strategy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
				if in.Run == "r1" && (tc.strategy == thread.MultitaskInterrupt || tc.strategy == thread.MultitaskRollback) {
					return step.CallModelResult{}, hang(ctx)
				}
				return says("ok")
			}
			// Both come in one workflow task, before either has been worked on.
			second := w.together(step.SubmitRun{RunID: "r1"}, step.SubmitRun{RunID: "r2", Multitask: tc.strategy})
			w.run()
			if tc.refused {
				require.ErrorContains(t, second.err, "already has an active run")
			} else {
				require.NoError(t, second.err)
			}
			var got []thread.RunStatus
			for _, e := range w.ends() {
				got = append(got, e.Status)
			}
			if tc.strategy == thread.MultitaskInterrupt || tc.strategy == thread.MultitaskRollback {
				require.Len(t, got, 2)
				require.NotEqual(t, thread.RunSuccess, got[0])
				require.Equal(t, thread.RunSuccess, got[1])
				if tc.strategy == thread.MultitaskInterrupt {
					require.Len(t, w.started, 2, "the message of a run that was interrupted before it began stays")
				}
				return
			}
			require.Equal(t, tc.ends, got)
		})
	}
}

func TestTheSameRunIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	again := &outcomeOf[step.SubmitResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateSubmitRun, "another-id", again, step.SubmitRun{RunID: "r1"})
	}, time.Hour)
	w.run()
	require.True(t, typed(again.err, step.ErrDuplicate), "%v: a repeat leaves nothing in the history", again.err)
	require.Len(t, w.calls, 1)
}

func TestAModelThatFailedForGoodLeavesAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failed := false
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		if failed {
			return says("now it works")
		}
		failed = true
		return step.CallModelResult{}, temporal.NewApplicationErrorWithOptions("no", step.ErrModel, temporal.ApplicationErrorOptions{
			NonRetryable: true, Details: []any{step.ModelFailure{Reason: "quota", Message: "You exceeded your current quota"}},
		})
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2"}, "two")
	w.run()
	require.Equal(t, thread.RunError, w.ends()[0].Status)
	require.Equal(t, "You exceeded your current quota", w.ends()[0].Error)
	require.Equal(t, thread.StatusError, w.commits[0].Status)
	seal := w.commits[0].Seals[0]
	require.Contains(t, seal.Fallback.Content.String(), "quota")
	require.Equal(t, true, seal.Fallback.AdditionalKwargs[thread.KeyErrorFallback])
	require.Equal(t, thread.RunSuccess, w.ends()[1].Status, "the thread lives on")
	require.Equal(t, thread.StatusIdle, w.last().Status)
}

func TestALongPauseThatAProviderAsksForIsATimer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var at []time.Time
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		at = append(at, w.env.Now())
		if len(at) == 1 {
			return step.CallModelResult{}, temporal.NewApplicationErrorWithOptions("slow down", step.ErrRateLimited, temporal.ApplicationErrorOptions{
				NonRetryable: true, Details: []any{step.ModelFailure{Reason: "busy", Message: "slow down", RetryAfter: 600}},
			})
		}
		return says("ok")
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.run()
	require.Len(t, at, 2)
	require.GreaterOrEqual(t, at[1].Sub(at[0]), 10*time.Minute)
	require.Equal(t, thread.RunSuccess, w.ends()[0].Status)
}

func TestFailuresAroundToolsAreResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			bad := call("b", "ls")
			bad.Invalid = "the arguments are no JSON object"
			return asks(call("a", "teleport"), bad, call("c", "bash"))
		}
		return says("done")
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, temporal.NewNonRetryableApplicationError("gone", "HostGone", nil)
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	texts := map[string]string{}
	for _, in := range w.tooled {
		if in.Reply != nil {
			require.True(t, in.Reply.Error)
			texts[in.Call] = in.Reply.Text
		}
	}
	require.Contains(t, texts["a"], `"teleport" is not a tool`)
	require.Contains(t, texts["a"], "ls, bash, ask_clarification")
	require.Contains(t, texts["b"], "the arguments are no JSON object")
	require.Contains(t, texts["c"], "It may have run")
	require.Equal(t, thread.RunSuccess, w.ends()[0].Status)
}

func TestALoopIsWarnedThenStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		same := call("a", "ls")
		same.Key = "same"
		return asks(same)
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Len(t, w.calls, 5, "C01: stopped at the fifth")
	for i, in := range w.calls {
		require.Equal(t, i == 3, hasEdit(in, "loop_warning"), "the warning goes with the fourth call alone (call %d)", i+1)
	}
	require.Len(t, w.tooled, 4)
	last := w.last()
	require.Len(t, last.Revisions, 1)
	require.True(t, last.Revisions[0].StripCalls)
	require.Equal(t, thread.StopLoopCapped, last.Ends[0].StopReason)
	require.Equal(t, thread.RunSuccess, last.Ends[0].Status)
}

func TestC07TheTurnLimitEndsWithAnAnswerWithoutTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan.MaxTurns = 3
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.NoTools {
			return says("what I know so far")
		}
		c := call("a", "ls")
		c.Key = in.MessageID
		return asks(c)
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	require.Len(t, w.calls, 4)
	require.True(t, w.calls[3].NoTools)
	require.Equal(t, thread.StopTurnCapped, w.ends()[0].StopReason)
	require.Equal(t, thread.RunSuccess, w.ends()[0].Status)
}

func TestALongHistoryContinuesAsNewBetweenTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 2 {
			w.env.SetContinueAsNewSuggested(true)
		}
		c := call("a", "ls")
		c.Key = in.MessageID
		return asks(c)
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	queued := w.together(step.SubmitRun{RunID: "r1"}, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue})
	w.run()
	require.NoError(t, queued.err)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	require.Equal(t, "Thread", next.WorkflowType.Name)

	// The next run of the workflow goes on from what was carried.
	var in step.ThreadInput
	require.NoError(t, carriedInput(next, &in))
	w2 := newWorld(t)
	w2.texts = w.texts
	w2.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) { return says("done") }
	w2.runWith(in)
	require.Equal(t, 3, w2.calls[0].Turn)
	require.NotNil(t, w2.calls[0].Commit, "a commit that had no ride yet is carried")
	require.Len(t, w2.started, 1, "r1 is not started twice")
	require.Equal(t, "r2", w2.started[0].Run)
	require.Equal(t, []thread.RunStatus{thread.RunSuccess, thread.RunSuccess}, []thread.RunStatus{w2.ends()[0].Status, w2.ends()[1].Status})
}

func TestADatabaseThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken = 4
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.run()
	require.NoError(t, w.env.GetWorkflowError())
	require.Equal(t, thread.RunSuccess, w.ends()[0].Status)
}

func TestAThreadThatIsGoneEndsItsWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) {
		return step.CallModelResult{}, temporal.NewNonRetryableApplicationError("deleted", step.ErrThreadGone, nil)
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "one")
	w.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, w.env.GetWorkflowError(), &app)
	require.Equal(t, step.ErrThreadGone, app.Type())
}

func TestALostWorkflowGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		c := call("a", "ls")
		c.Key = in.MessageID
		return asks(c)
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	w.plan.MaxTurns = 3
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.run()
	head := w.commits[1] // written in the middle of the run

	w2 := newWorld(t)
	w2.head = step.LoadThreadResult{Plan: &w.plan, Head: &step.Head{
		ID: head.CheckpointID, Data: head.Checkpoint, Cursor: head.Cursor, NextPos: head.NextPos, State: head.State, Status: head.Status,
	}}
	w2.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("done") }
	again := w2.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w2.run()
	require.True(t, again.value.Duplicate, "the run is the one of the checkpoint")
	require.Empty(t, w2.started)
	require.Equal(t, 3, w2.calls[0].Turn)
	require.Equal(t, w.calls[2].MessageID, w2.calls[0].MessageID, "the step writes the same row")
	require.Equal(t, w.calls[2].Pos, w2.calls[0].Pos)
}

func TestDetailsTellTheStory(t *testing.T) {
	t.Parallel()
	c := &conversation{in: step.ThreadInput{Thread: "t"}, st: threadState{
		Question:   "How durable is it?",
		Loop:       &loop{Waiting: true, Turn: 2},
		Interrupts: []thread.Interrupt{{ID: "q", Value: thread.Card{Question: "For whom?", Options: []thread.Option{{Label: "Engineers"}}}}},
		State:      thread.State{Artifacts: []string{"/mnt/user-data/outputs/report.md"}},
	}}
	text := c.details()
	for _, want := range []string{
		"### How durable is it?\n", "**Waiting for you**", "\n> **For whom?**\n", "\n1. Engineers\n", "`answer`",
		"deerflow threads reply t", "\n- `/mnt/user-data/outputs/report.md`\n",
	} {
		require.Contains(t, text, want)
	}
	require.LessOrEqual(t, len([]rune(cutRunes(strings.Repeat("界", 999)))), titleRunes)
}

func TestARunThatWasTakenBackIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			return asks(call("q", "ask_clarification"))
		}
		return says("done")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	w.goneRuns = []string{"r0", "r2"}
	w.submit(0, step.SubmitRun{RunID: "r0"}, "taken back at once")
	w.submit(time.Hour, step.SubmitRun{RunID: "r1"}, "go")
	w.submit(2*time.Hour, step.SubmitRun{RunID: "r2"}, "an answer that was taken back")
	w.submit(3*time.Hour, step.SubmitRun{RunID: "r3"}, "the answer")
	w.run()
	require.NoError(t, w.env.GetWorkflowError())
	require.Len(t, w.calls, 2)
	require.Equal(t, "r3", w.calls[1].Run, "the question went on waiting")
	require.Equal(t, thread.StatusIdle, w.last().Status)
	for _, e := range w.ends() {
		require.NotContains(t, w.goneRuns, e.RunID)
	}
}

// A workflow that was ended from outside leaves a run that has started and not
// ended.
func TestARunThatLostItsWorkflow(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		w := newWorld(t)
		w.head.Running = []step.RunningRun{{SubmitRun: step.SubmitRun{RunID: "r1"}}}
		w.texts["r1"] = []string{"one"}
		w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
		second := w.submit(0, step.SubmitRun{RunID: "r2", Multitask: thread.MultitaskEnqueue}, "two")
		w.runWith(step.ThreadInput{
			Version: 1, Thread: "t1", User: "default", Stopped: stopped, Settings: step.ThreadSettings{IdleTimeout: time.Hour},
		})
		require.NoError(t, second.err)
		require.Equal(t, int64(0), w.started[0].Pos)
		require.Equal(t, int64(1), w.started[1].Pos-int64(len(w.calls)-1), "no message stands on another's place")
		want := thread.RunSuccess
		if stopped {
			want = thread.RunInterrupted
		}
		require.Equal(t, want, w.ends()[0].Status)
		require.Equal(t, thread.RunSuccess, w.ends()[1].Status)
	}
}

// A run that was to be stopped when its workflow and Temporal's database were
// lost is ended as was asked, with what it had begun.
func TestAStoppedRunThatLostItsWorkflow(t *testing.T) {
	t.Parallel()
	for _, action := range []thread.CancelAction{thread.CancelInterrupt, thread.CancelRollback} {
		w := newWorld(t)
		w.head.Running = []step.RunningRun{{SubmitRun: step.SubmitRun{RunID: "r1", Stopped: action}}}
		w.head.Unfinished = []step.Unfinished{{Run: "r1", Seals: []step.Seal{
			{MessageID: "r1-2", Pos: 2, Fallback: thread.ToolResult("r1-2", thread.ToolCall{Name: "bash", ID: "c"}, thread.ToolError, "stopped")},
			{MessageID: "r1-9", Stream: true},
		}}}
		w.texts["r1"] = []string{"one"}
		w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("ok") }
		w.run()
		require.Empty(t, w.calls, "the model is not asked")
		require.Len(t, w.ends(), 1)
		want := thread.End{RunID: "r1", Status: thread.RunInterrupted, StopReason: thread.StopCancelled}
		if action == thread.CancelRollback {
			want.Status, want.Error = thread.RunError, "Rolled back by user"
		}
		require.Equal(t, want, w.ends()[0])
		seals := w.last().Seals
		require.Len(t, seals, 2)
		require.Equal(t, int64(2), seals[0].Pos)
		require.Equal(t, int64(3), seals[1].Pos, "no message stands on another's place")
		require.True(t, seals[1].Stream)
	}
}
