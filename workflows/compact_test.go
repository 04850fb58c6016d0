package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// compacting lets a world write summaries at so many messages.
func (w *world) compacting(trigger, keep float64) *[]step.SummarizeInput {
	asked := &[]step.SummarizeInput{}
	w.plan.Summarization = &agent.SummarizationRule{
		Triggers: []agent.Measure{{Type: agent.MeasureMessages, Value: trigger}}, Keep: agent.Measure{Type: agent.MeasureMessages, Value: keep},
	}
	w.register(step.ResolvePlan, func(context.Context, step.ResolvePlanInput) (step.ResolvePlanResult, error) {
		return step.ResolvePlanResult{PlanHash: "resolved", Plan: w.plan}, nil
	})
	w.register(step.Summarize, func(_ context.Context, in step.SummarizeInput) (step.SummarizeResult, error) {
		if in.Commit != nil {
			if _, err := w.commit(*in.Commit); err != nil {
				return step.SummarizeResult{}, err
			}
		}
		w.mu.Lock()
		*asked = append(*asked, in)
		w.mu.Unlock()
		m := thread.Summary(in.MessageID, "what was said")
		d := m.Digest(in.Pos)
		return step.SummarizeResult{Message: &d, Usage: thread.Usage{TotalTokens: 5}}, nil
	})
	return asked
}

func (w *world) compact(at time.Duration, k step.Compact) *outcomeOf[step.CompactResult] {
	out := &outcomeOf[step.CompactResult]{}
	w.env.RegisterDelayedCallback(func() { w.env.UpdateWorkflow(step.UpdateCompact, k.ID, out, k) }, at)
	return out
}

// A run compacts before its model call; what is listed is more than what the
// model reads, in every commit from then on.
func TestARunCompacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.compacting(5, 2)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	for i, id := range []string{"r1", "r2", "r3"} {
		w.submit(time.Duration(i)*time.Hour, step.SubmitRun{RunID: id}, "q")
	}
	w.run()
	require.Len(t, *asked, 1)
	in := (*asked)[0]
	require.Equal(t, []thread.Segment{{From: 0, To: 3}}, in.Cursor.Segments)
	require.Nil(t, in.Previous)
	require.Equal(t, int64(5), in.Pos)
	require.Equal(t, []thread.Segment{{From: 5, To: 6}, {From: 3, To: 5}}, w.calls[2].Cursor.Segments)
	require.True(t, hasEdit(w.calls[2], "") && w.calls[2].Edits[0].Op == agent.EditWrap)
	c := w.last()
	require.Equal(t, []thread.Segment{{From: 0, To: 5}, {From: 6, To: 7}}, c.Cursor.Segments)
	require.Equal(t, &thread.Compacted{Summary: 5, Cut: 3}, c.Cursor.Compacted)
	require.Equal(t, in.MessageID, c.State.Summary.MessageID)
	require.Equal(t, 15, w.ends()[2].Usage.TotalTokens, "the summary is paid for by the run")
}

// In the middle of a run the commit of the turn rides on the summary, and the
// next one takes up what the first left.
func TestARunCompactsBetweenItsTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.compacting(5, 2)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 5 {
			return says("done")
		}
		return asks(call(in.MessageID, "ls"))
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "q")
	w.run()
	require.Len(t, *asked, 3)
	first, second := (*asked)[0], (*asked)[1]
	require.NotNil(t, first.Commit)
	require.Equal(t, []thread.Segment{{From: 1, To: 3}}, first.Cursor.Segments, "the question stays")
	require.Equal(t, first.Pos, *second.Previous)
	for _, in := range w.calls[3:] {
		require.Equal(t, int64(0), in.Cursor.Segments[1].From, "summary, question, the rest")
	}
	require.Nil(t, w.calls[2].Commit, "it rode on the summary")
}

func TestARollbackUndoesACompaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.compacting(5, 2)
	var loaded []step.LoadThreadInput
	w.register(step.LoadThread, func(_ context.Context, in step.LoadThreadInput) (step.LoadThreadResult, error) {
		loaded = append(loaded, in)
		if !in.Carried {
			return step.LoadThreadResult{}, nil
		}
		var out step.LoadThreadResult
		for pos := range int64(4) {
			role := []thread.Role{thread.RoleHuman, thread.RoleAI}[pos%2]
			out.Digests = append(out.Digests, thread.Digest{ID: string(rune('a' + pos)), Role: role, Pos: pos})
		}
		return out, nil
	})
	w.model = func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Run == "r3" {
			w.stop(0, step.CancelRun{RunID: "r3", Action: thread.CancelRollback})
			return step.CallModelResult{}, hang(ctx)
		}
		return says("42")
	}
	for i, id := range []string{"r1", "r2", "r3", "r4"} {
		w.submit(time.Duration(i)*time.Hour, step.SubmitRun{RunID: id}, "q")
	}
	w.run()
	require.Len(t, *asked, 2)
	require.Len(t, loaded, 2, "at the start, and after the rollback")
	require.Nil(t, loaded[1].Cursor.Compacted)
	require.Nil(t, (*asked)[1].Previous, "the summary is gone with its run")
	require.Equal(t, []thread.Segment{{From: 0, To: 3}}, (*asked)[1].Cursor.Segments)
}

func TestAThreadIsCompactedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.compacting(100, 20)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "q", "q", "q")
	odd := w.compact(time.Hour, step.Compact{ID: "r1"})
	few := w.compact(2*time.Hour, step.Compact{ID: "update-1", Force: true})
	below := w.compact(3*time.Hour, step.Compact{ID: "update-2", Keep: 1})
	done := w.compact(4*time.Hour, step.Compact{ID: "update-3", Force: true, Keep: 1})
	again := &outcomeOf[step.CompactResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateCompact, "repeat", again, step.Compact{ID: "update-3", Force: true, Keep: 1})
	}, 5*time.Hour)
	var carried thread.Cursor
	w.env.RegisterDelayedCallback(func() { carried = w.last().Cursor }, 6*time.Hour)
	title := "t"
	w.update(7*time.Hour, step.UpdateState{ID: "update-4", Title: &title, Clear: true})
	w.run()
	require.Error(t, odd.err)
	require.NoError(t, few.err)
	require.Equal(t, "not_enough_messages", few.value.Reason)
	require.Equal(t, 4, few.value.Preserved)
	require.Equal(t, "below_trigger", below.value.Reason)
	require.NoError(t, done.err)
	require.True(t, done.value.Compacted)
	require.Equal(t, []int{2, 2}, []int{done.value.Removed, done.value.Preserved})
	require.Equal(t, "done_before", again.value.Reason)
	require.Len(t, *asked, 1)
	require.False(t, (*asked)[0].Plain)
	require.Equal(t, &thread.Compacted{Summary: 4, Cut: 3, Rescued: []int64{2}}, carried.Compacted)
	require.Equal(t, []thread.Segment{{From: 0, To: 4}}, carried.Segments)
	c := w.last()
	require.Nil(t, c.Cursor.Compacted, "with all messages goes the summary")
	require.Nil(t, c.State.Summary)
	require.Equal(t, &thread.SummaryRef{}, c.Update.Summary)
}

// A thread outlives a compaction that cannot be done, and whoever asked is told.
func TestACompactionByHandFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compacting(100, 1)
	answers := []step.SummarizeResult{{Failed: "model kit wrote no summary"}, {}}
	errs := []error{nil, temporal.NewNonRetryableApplicationError("the disk is full", "Disk", errors.New("x"))}
	w.register(step.Summarize, func(context.Context, step.SummarizeInput) (step.SummarizeResult, error) {
		out, err := answers[0], errs[0]
		answers, errs = answers[1:], errs[1:]
		return out, err
	})
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "q", "q")
	one := w.compact(time.Hour, step.Compact{ID: "update-1", Force: true})
	two := w.compact(2*time.Hour, step.Compact{ID: "update-2", Force: true})
	w.env.RegisterDelayedCallback(func() { w.plan.Summarization.Disabled = true }, 3*time.Hour)
	off := w.compact(4*time.Hour, step.Compact{ID: "update-3", Force: true})
	w.submit(5*time.Hour, step.SubmitRun{RunID: "r2"}, "still there?")
	w.run()
	require.ErrorContains(t, one.err, "model kit wrote no summary")
	require.ErrorContains(t, two.err, "the disk is full")
	require.ErrorContains(t, off.err, "Summarization is disabled")
	require.Len(t, w.ends(), 2)
	require.Equal(t, thread.Segment{From: 0, To: 3}, w.calls[1].Cursor.Segments[0], "nothing was compacted")
}

// Messages that were compacted away are still listed, so they can be changed.
func TestAnUpdateReachesCompactedMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compacting(100, 1)
	w.register(step.LoadThread, func(_ context.Context, in step.LoadThreadInput) (step.LoadThreadResult, error) {
		var out step.LoadThreadResult
		for i, id := range []string{"r1-in-0", "r1-in-1"} {
			for _, only := range in.Only {
				if only == id {
					out.Digests = append(out.Digests, thread.Digest{ID: id, Role: thread.RoleHuman, Pos: int64(i)})
				}
			}
		}
		return out, nil
	})
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	w.submit(0, step.SubmitRun{RunID: "r1"}, "q0", "q1", "q2")
	w.compact(time.Hour, step.Compact{ID: "update-1", Force: true})
	out := w.update(2*time.Hour, step.UpdateState{ID: "update-2", Remove: []string{"r1-in-0"}, Messages: []thread.Message{thread.Human("r1-in-1", "other words")}})
	w.submit(3*time.Hour, step.SubmitRun{RunID: "r2"}, "and now?")
	w.run()
	require.NoError(t, out.err)
	for _, c := range w.commits {
		if c.Run == "update-2" {
			require.Equal(t, []thread.Segment{{From: 1, To: 4}}, c.Cursor.Segments)
			require.Equal(t, int64(1), c.Messages[0].Pos, "it keeps its place")
		}
	}
	require.Equal(t, []thread.Segment{{From: 4, To: 5}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 5, To: 6}}, w.calls[1].Cursor.Segments)
}

// A compaction outlives a continue-as-new.
func TestACompactionIsCarried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compacting(5, 2)
	w.model = func(_ context.Context, in step.CallModelInput) (step.CallModelResult, error) {
		if in.Turn == 4 {
			w.env.SetContinueAsNewSuggested(true)
		}
		return asks(call(in.MessageID, "ls"))
	}
	w.tool = func(context.Context, step.CallToolInput) (step.CallToolResult, error) {
		return step.CallToolResult{}, nil
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "q")
	w.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	var carried step.ThreadInput
	require.NoError(t, carriedInput(next, &carried))
	require.Contains(t, string(carried.Carried), `"compacted":{"summary":`)
}

// Of a very long transcript the workflow knows the newest part; a compaction
// takes what stands before it, too.
func TestACompactionTakesWhatTheWorkflowDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := &conversation{digests: []thread.Digest{{Pos: 7}, {Pos: 8}}}
	c.st.Cursor = thread.Cursor{Segments: []thread.Segment{{From: 0, To: 5}, {From: 6, To: 9}}}
	old := thread.Cursor{Segments: []thread.Segment{{From: 7, To: 8}}}
	require.Equal(t, []thread.Segment{{From: 0, To: 5}, {From: 6, To: 7}, {From: 7, To: 8}}, c.withUnknown(old).Segments)
	c.digests = []thread.Digest{{Pos: 9, Name: thread.NameSummary}, {Pos: 7}, {Pos: 8}}
	c.st.Cursor.Compacted = &thread.Compacted{Summary: 9, Cut: 7}
	require.Equal(t, old, c.withUnknown(old))
}
