package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestAQuestionStopsTheLoopAndTheAnswerGoesOnWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			return asks(call("q", "ask_clarification"), call("b", "ls"))
		}
		return says("done")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) {
		if in.Name == "ask_clarification" {
			return question(in.Call)
		}
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.env.RegisterDelayedCallback(func() {
		c := w.last()
		require.Equal(t, thread.StatusInterrupted, c.Status)
		require.Len(t, c.Interrupts, 1)
		require.Equal(t, thread.RunSuccess, c.Ends[0].Status, "the API run ends while the loop waits")
		require.Len(t, w.tooled, 2, "sibling calls finish first")
	}, time.Hour)
	w.submit(24*21*time.Hour, step.SubmitRun{RunID: "r2"}, "the second")
	w.run()
	require.Len(t, w.calls, 2)
	require.Equal(t, 2, w.calls[1].Turn, "the turn counter carries on")
	require.Equal(t, "r2", w.calls[1].Run)
	require.Equal(t, []string{"clarification:q"}, w.started[1].Answers)
	require.Equal(t, "plan", w.started[1].KeepPlan)
	require.Equal(t, thread.StatusIdle, w.last().Status)
	require.Empty(t, w.last().Interrupts)
}

func TestTwoQuestionsAreTwoInterrupts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 1 {
			return asks(call("q1", "ask_clarification"), call("q2", "ask_clarification"))
		}
		return says("done")
	}
	w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
	w.submit(time.Hour, step.SubmitRun{RunID: "r2", Answers: []string{"clarification:q2"}}, "second first")
	w.env.RegisterDelayedCallback(func() {
		require.Len(t, w.last().Interrupts, 1)
		require.Equal(t, "clarification:q1", w.last().Interrupts[0].ID)
		require.Len(t, w.calls, 1, "no model call while a question is open")
	}, 2*time.Hour)
	late := w.submit(3*time.Hour, step.SubmitRun{RunID: "r3", Answers: []string{"clarification:q2"}}, "again")
	w.submit(4*time.Hour, step.SubmitRun{RunID: "r4", Answers: []string{"clarification:q1"}}, "first")
	w.run()
	require.Error(t, late.err, "a question is answered once")
	require.Len(t, w.calls, 2)
	require.Equal(t, thread.StatusIdle, w.last().Status)
}

func TestAnswersComeByUpdateAndBySignal(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"update", "signal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
				if in.Turn == 1 {
					return asks(call("q", "ask_clarification"))
				}
				return says("done")
			}
			w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
			w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
			if how == "update" {
				w.answer(time.Hour, step.Answer{Text: "blue"})
			} else {
				w.env.RegisterDelayedCallback(func() { w.env.SignalWorkflow(step.SignalAnswer, step.Answer{Text: "blue"}) }, time.Hour)
			}
			second := w.answer(2*time.Hour, step.Answer{Text: "red"})
			w.run()
			require.Len(t, w.started, 2)
			require.Contains(t, w.started[1].Message.Content.String(), "blue")
			require.True(t, w.started[1].Message.Hidden())
			require.Error(t, second.err, "a late answer is refused")
			require.Len(t, w.ends(), 2)
		})
	}
}

func TestAQuestionMayHaveATimeLimit(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"proceed", "stop"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan.Clarification.Timeout, w.plan.Clarification.OnTimeout = time.Hour, rule
			w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
				if in.Turn == 1 {
					return asks(call("q", "ask_clarification"))
				}
				return says("done")
			}
			w.tool = func(_ context.Context, in step.CallToolInput) (step.CallToolResult, error) { return question(in.Call) }
			w.submit(0, step.SubmitRun{RunID: "r1"}, "go")
			w.run()
			require.Equal(t, thread.StatusIdle, w.last().Status)
			if rule == "proceed" {
				require.Len(t, w.calls, 2)
				require.Contains(t, w.started[1].Message.Content.String(), "Nobody answered")
			} else {
				require.Len(t, w.calls, 1)
			}
		})
	}
}
