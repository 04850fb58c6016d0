package store

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// E06: whoever reads after the POST sees the new question, before any workflow
// has heard of it.
func TestPendingMessagesVisible(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		f.submit(th, "r1", "first")
		f.start(th, "r1", 0)
		f.finish(f.owner(ref(th, "r1", 2)), 1, "answer")
		f.commit(commitInput(ref(th, "r1", 2), 2, thread.StatusIdle))

		before, err := f.GetThread(f.ctx, th)
		require.NoError(f.t, err)
		f.submit(th, "r2", "second", "third")
		v, err := f.View(f.ctx, th, ViewOptions{})
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"first", "answer", "second", "third"}, texts(v.Rows))
		require.Equal(f.t, int64(noPos), v.Rows[2].Pos)
		require.Equal(f.t, "r2", v.Rows[2].RunID)
		require.Equal(f.t, thread.StatusIdle, v.Thread.Status)
		require.True(f.t, v.Thread.UpdatedAt.After(before.UpdatedAt))

		// As of a place in the log, pending messages are not there yet.
		v, err = f.View(f.ctx, th, ViewOptions{AtSeq: v.Seq})
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"first", "answer"}, texts(v.Rows))

		f.start(th, "r2", 2)
		require.Equal(f.t, []string{"first", "answer", "second", "third"}, f.viewTexts(th))
	})
}

func TestSubmitTwice(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		n := NewRun{
			Run: Run{
				ID: "r1", ThreadID: "t1", User: "ann", Key: "k", Multitask: thread.MultitaskEnqueue, AssistantID: "lead_agent",
				Submit: json.RawMessage(`{"run_id":"r1"}`), Kwargs: json.RawMessage(`{"input":null}`), Metadata: json.RawMessage(`{"a":1}`),
				Options: thread.RunOptions{Model: "gpt-5"},
			},
			Messages: []thread.Message{thread.Human("h1", "hi")}, CreateThread: true,
		}
		first, existing, err := f.SubmitRun(f.ctx, n)
		require.NoError(f.t, err)
		require.False(f.t, existing)
		stored, err := f.GetRun(f.ctx, "t1", "r1")
		require.NoError(f.t, err)
		require.Equal(f.t, first, stored)

		// The same run again, then another with the same key.
		again, existing, err := f.SubmitRun(f.ctx, n)
		require.NoError(f.t, err)
		require.True(f.t, existing)
		require.Equal(f.t, stored, again)
		n.Run.ID, n.Messages[0].ID = "r2", "h2"
		again, existing, err = f.SubmitRun(f.ctx, n)
		require.NoError(f.t, err)
		require.True(f.t, existing)
		require.Equal(f.t, stored, again)
		require.Equal(f.t, []string{"hi"}, f.viewTexts("t1"))

		// A key belongs to its thread.
		n.Run.ThreadID, n.Run.ID = "t2", "r3"
		_, existing, err = f.SubmitRun(f.ctx, n)
		require.NoError(f.t, err)
		require.False(f.t, existing)
	})
}

func TestSubmitTwiceAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		ids := make([]string, 8)
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				id := string(rune('a' + i))
				run, _, err := f.SubmitRun(f.ctx, NewRun{
					Run:      Run{ID: id, ThreadID: "t1", User: "ann", Key: "k"},
					Messages: []thread.Message{thread.Human("h"+id, "hi")}, CreateThread: true,
				})
				ids[i], errs[i] = run.ID, err
			})
		}
		wg.Wait()
		for i := range ids {
			require.NoError(f.t, errs[i])
			require.Equal(f.t, ids[0], ids[i])
		}
		require.Equal(f.t, []string{"hi"}, f.viewTexts("t1"))
	})
}

func TestSubmitRefused(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.newThread("anns")
		for name, c := range map[string]struct {
			run     Run
			id      string
			wantErr error
		}{
			"no thread":       {Run{ID: "r", ThreadID: "none", User: "ann"}, "h", ErrNotFound},
			"another's":       {Run{ID: "r", ThreadID: "anns", User: "bob"}, "h", ErrNotFound},
			"no run id":       {Run{ThreadID: "anns", User: "ann"}, "h", ErrInvalid},
			"no message id":   {Run{ID: "r", ThreadID: "anns", User: "ann"}, "", ErrInvalid},
			"NUL in id":       {Run{ID: "r", ThreadID: "anns", User: "ann"}, "a\x00", ErrInvalid},
			"half a rune":     {Run{ID: "r", ThreadID: "anns", User: "ann"}, "\xf0\x9f", ErrInvalid},
			"endless key":     {Run{ID: "r", ThreadID: "anns", User: "ann", Key: string(make([]byte, 5000))}, "h", ErrInvalid},
			"no thread's id":  {Run{ID: "r", User: "ann"}, "h", ErrInvalid},
			"NUL in run's id": {Run{ID: "r\x00", ThreadID: "anns", User: "ann"}, "h", ErrInvalid},
		} {
			_, _, err := f.SubmitRun(f.ctx, NewRun{Run: c.run, Messages: []thread.Message{thread.Human(c.id, "x")}})
			require.ErrorIs(f.t, err, c.wantErr, name)
		}
		require.Zero(f.t, f.count("runs"))
		require.Zero(f.t, f.count("messages"))

		run, _, err := f.SubmitRun(f.ctx, NewRun{Run: Run{ID: "r", ThreadID: "anns"}})
		require.NoError(f.t, err)
		require.Equal(f.t, "ann", run.User, "the thread's user when none is named")
	})
}

func TestWithdrawRun(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "kept")
		f.submit("t1", "r2", "refused")
		require.NoError(f.t, f.WithdrawRun(f.ctx, "t1", "r2"))
		require.NoError(f.t, f.WithdrawRun(f.ctx, "t1", "r2"), "twice")
		require.NoError(f.t, f.WithdrawRun(f.ctx, "none", "r2"))
		require.Equal(f.t, []string{"kept"}, f.viewTexts("t1"))
		_, err := f.GetRun(f.ctx, "t1", "r2")
		require.ErrorIs(f.t, err, ErrNotFound)

		f.start("t1", "r1", 0)
		require.ErrorIs(f.t, f.WithdrawRun(f.ctx, "t1", "r1"), ErrNotPending)
		require.Equal(f.t, []string{"kept"}, f.viewTexts("t1"))
	})
}

// A message that is sent again under its id has moved: one place, newest text.
func TestMessageIDSentAgain(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "old text")
		f.start("t1", "r1", 0)
		f.finish(f.owner(ref("t1", "r1", 2)), 1, "answer")
		f.commit(commitInput(ref("t1", "r1", 2), 2, thread.StatusIdle))
		_, _, err := f.SubmitRun(f.ctx, NewRun{
			Run:      Run{ID: "r2", ThreadID: "t1", User: "ann"},
			Messages: []thread.Message{thread.Human("r1-h0", "new text")},
		})
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"answer", "new text"}, f.viewTexts("t1"))
		rows := f.start("t1", "r2", 2)
		require.Equal(f.t, 1, rows[0].Rev)
		require.Equal(f.t, []string{"answer", "new text"}, f.viewTexts("t1"))
		rows, err = f.Messages(f.ctx, "t1", thread.Cursor{Segments: []thread.Segment{{From: 0, To: 2}}})
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"old text", "answer"}, texts(rows), "where only the old place is in view")
	})
}

// E08: a queue keeps the order of submission, and a cancelled entry of it shows
// no message.
func TestPendingRunsInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for _, run := range []string{"z", "m", "a", "q"} {
			f.submit("t1", run, "text "+run)
		}
		f.submit("t2", "b", "other")
		runs, err := f.PendingRuns(f.ctx)
		require.NoError(f.t, err)
		ids := make([]string, len(runs))
		for i, r := range runs {
			ids[i] = r.ID
		}
		require.Equal(f.t, []string{"z", "m", "a", "q", "b"}, ids)

		f.start("t1", "z", 0)
		in := commitInput(ref("t1", "z", 2), 1, thread.StatusBusy)
		in.Ends = []thread.End{{RunID: "m", Status: thread.RunInterrupted, StopReason: thread.StopCancelled}}
		f.commit(in)
		require.Equal(f.t, []string{"text z", "text a", "text q"}, f.viewTexts("t1"))
		listed, err := f.ListRuns(f.ctx, "t1", RunQuery{Limit: 3, Offset: 1})
		require.NoError(f.t, err)
		require.Len(f.t, listed, 3)
		require.Equal(f.t, []string{"a", "m", "z"}, []string{listed[0].ID, listed[1].ID, listed[2].ID})
		listed, err = f.ListRuns(f.ctx, "t1", RunQuery{Status: thread.RunInterrupted})
		require.NoError(f.t, err)
		require.Len(f.t, listed, 1)
		require.Equal(f.t, thread.StopCancelled, listed[0].StopReason)

		_, err = f.StartRun(f.ctx, StartRun{Ref: ref("t1", "m", 1), Pos: 9})
		require.ErrorIs(f.t, err, ErrRunGone, "it ended in the queue")
		head, err := f.LoadHead(f.ctx, "t1", nil)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"m"}, head.RecentRuns, "z has not ended: a thread that lost it takes it up again")
		active, err := f.ActiveThreads(f.ctx)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"t1"}, active)
	})
}
