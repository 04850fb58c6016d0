package store

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestStartRun(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one", "two")
		rows := f.start("t1", "r1", 5)
		require.Equal(f.t, []string{"one", "two"}, texts(rows))
		require.Equal(f.t, []int64{5, 6}, []int64{rows[0].Pos, rows[1].Pos})
		require.Equal(f.t, "r1", rows[0].Message.AdditionalKwargs[thread.KeyRunID])
		require.Equal(f.t, "2026-01-25T09:15:20.750374+00:00", rows[1].Message.AdditionalKwargs[thread.KeyTimestamp])
		events := f.log("t1")
		require.Equal(f.t, "run.start message message", types(events))
		require.JSONEq(f.t, `{"run_id":"r1","assistant_id":"lead_agent"}`, string(events[0].Data))
		require.Equal(f.t, rows[0].Seq, events[1].Seq)

		run, err := f.GetRun(f.ctx, "t1", "r1")
		require.NoError(f.t, err)
		require.Equal(f.t, thread.RunRunning, run.Status)
		require.Zero(f.t, run.FirstSeq)
		require.Equal(f.t, "lead_agent", run.AssistantID)
		th, err := f.GetThread(f.ctx, "t1")
		require.NoError(f.t, err)
		require.Equal(f.t, thread.StatusBusy, th.Status)
		plan, err := f.GetPlan(f.ctx, "h1")
		require.NoError(f.t, err)
		require.Equal(f.t, `{"p":1}`, string(plan))
		_, err = f.GetPlan(f.ctx, "h2")
		require.ErrorIs(f.t, err, ErrNotFound)

		// A repeat, also after the run has gone on and a message was revised.
		require.Equal(f.t, rows, f.start("t1", "r1", 5))
		in := commitInput(ref("t1", "r1", 2), 7, thread.StatusIdle)
		in.Revisions = []thread.Revision{{MessageID: "r1-h0", AppendText: "more"}}
		in.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}}
		f.commit(in)
		before := f.log("t1")
		require.Equal(f.t, rows, f.start("t1", "r1", 5))
		require.Equal(f.t, before, f.log("t1"))
		require.Equal(f.t, 1, f.count("plans"))
	})
}

// A run that came by signal has neither row nor stored messages.
func TestStartRunFromInside(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		f.submit(th, "r1", "question?")
		f.start(th, "r1", 0)
		in := commitInput(ref(th, "r1", 2), 1, thread.StatusInterrupted)
		in.Interrupts = []thread.Interrupt{{ID: "i1"}, {ID: "i2"}}
		in.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}}
		f.commit(in)
		active, err := f.ActiveThreads(f.ctx)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{th}, active)

		message := thread.Human("a1", "42")
		start := StartRun{Ref: ref(th, "r2", 3), Pos: 1, Message: &message, AssistantID: "lead_agent", Answers: []string{"i1"}, At: at}
		rows, err := f.StartRun(f.ctx, start)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"42"}, texts(rows))
		require.Empty(f.t, message.AdditionalKwargs, "the caller's message is its own")
		again, err := f.StartRun(f.ctx, start)
		require.NoError(f.t, err)
		require.Equal(f.t, rows, again)

		run, err := f.GetRun(f.ctx, th, "r2")
		require.NoError(f.t, err)
		require.Equal(f.t, "ann", run.User)
		require.Equal(f.t, thread.RunRunning, run.Status)
		require.Equal(f.t, int64(4), run.FirstSeq)
		got, err := f.GetThread(f.ctx, th)
		require.NoError(f.t, err)
		require.Equal(f.t, []thread.Interrupt{{ID: "i2"}}, got.Interrupts)
		require.Equal(f.t, "run.start message checkpoint run.end run.start message", types(f.log(th)))
	})
}

func TestStartRunAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one", "two")
		var wg sync.WaitGroup
		got := make([][]Row, 6)
		for i := range got {
			wg.Go(func() {
				got[i], _ = f.StartRun(f.ctx, StartRun{Ref: ref("t1", "r1", 1), PlanHash: "h1", At: at})
			})
		}
		wg.Wait()
		for i := range got {
			require.Equal(f.t, []string{"one", "two"}, texts(got[i]))
		}
		require.Equal(f.t, "run.start message message", types(f.log("t1")))
	})
}

// What a run brings can be read before it starts, and after that it is the same.
func TestRunInput(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		input := func(run string) []Row { return f.input("t1", run) }
		require.Empty(f.t, input("r1"))
		f.submit("t1", "r1", "one", "two")
		f.submit("t1", "r2", "three")
		require.Equal(f.t, []string{"one", "two"}, texts(input("r1")))
		rows := f.start("t1", "r1", 5)
		require.Equal(f.t, rows, input("r1"))
		require.Equal(f.t, []string{"three"}, texts(input("r2")))
	})
}

func TestStartRunWithContext(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one", "two")
		start := StartRun{
			Ref: ref("t1", "r1", 1), Pos: 5, At: at, ContextOf: "r1-h1",
			Context: []thread.ContextBlock{{Kind: thread.ContextDate, Text: "today", Day: "2026-01-25"}},
		}
		rows, err := f.StartRun(f.ctx, start)
		require.NoError(f.t, err)
		require.Empty(f.t, rows[0].Message.Context())
		require.Equal(f.t, start.Context, rows[1].Message.Context())
		require.Equal(f.t, "two", rows[1].Message.Content.String())

		// A repeat finds what the first one stored, whatever it brings.
		start.Context[0].Day = "2026-01-26"
		rows, err = f.StartRun(f.ctx, start)
		require.NoError(f.t, err)
		require.Equal(f.t, "2026-01-25", rows[1].Message.Context()[0].Day)
		require.Equal(f.t, rows, f.input("t1", "r1"))
	})
}

func (f *fixture) input(threadID, run string) []Row {
	f.t.Helper()
	rows, err := f.RunInput(f.ctx, threadID, run)
	require.NoError(f.t, err)
	return rows
}
