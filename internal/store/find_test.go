package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestFindRuns(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one")
		f.start("t1", "r1", 0)
		f.submit("t2", "r2", "two")
		run, err := f.FindRun(f.ctx, "ann", "r2")
		require.NoError(f.t, err)
		require.Equal(f.t, "t2", run.ThreadID)
		_, err = f.FindRun(f.ctx, "bob", "r2")
		require.ErrorIs(f.t, err, ErrNotFound)
		_, err = f.FindRun(f.ctx, "ann", "r3")
		require.ErrorIs(f.t, err, ErrNotFound)

		for status, want := range map[thread.RunStatus][]string{"": {"r1", "r2"}, thread.RunPending: {"r2"}, thread.RunRunning: {"r1"}} {
			runs, err := f.LiveRuns(f.ctx, "ann", status)
			require.NoError(f.t, err)
			var ids []string
			for i := range runs {
				ids = append(ids, runs[i].ID)
			}
			require.Equal(f.t, want, ids, "status %q", status)
		}
		runs, err := f.LiveRuns(f.ctx, "bob", "")
		require.NoError(f.t, err)
		require.Empty(f.t, runs)
		_, err = f.LiveRuns(f.ctx, "ann", thread.RunSuccess)
		require.ErrorIs(f.t, err, ErrInvalid)
	})
}

func TestDeleteRun(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one")
		f.start("t1", "r1", 0)
		require.ErrorIs(f.t, f.DeleteRun(f.ctx, "t1", "r1"), ErrActive)
		f.finish(f.owner(ref("t1", "r1", 2)), 1, "answer")
		in := commitInput(ref("t1", "r1", 3), 2, thread.StatusIdle)
		in.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}}
		f.commit(in)
		require.NoError(f.t, f.DeleteRun(f.ctx, "t1", "r1"))
		require.ErrorIs(f.t, f.DeleteRun(f.ctx, "t1", "r1"), ErrNotFound)
		require.ErrorIs(f.t, f.DeleteRun(f.ctx, "t9", "r1"), ErrNotFound)
		require.Equal(f.t, []string{"one", "answer"}, f.viewTexts("t1"), "the transcript stays")
	})
}

func TestCopyThread(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "one")
		f.start("t1", "r1", 0)
		_, err := f.CopyThread(f.ctx, "t1", "t2")
		require.ErrorIs(f.t, err, ErrActive)
		f.finish(f.owner(ref("t1", "r1", 2)), 1, "answer")
		in := commitInput(ref("t1", "r1", 3), 2, thread.StatusIdle)
		in.State = thread.State{Title: "Numbers"}
		in.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}}
		f.commit(in)
		_, err = f.PatchThread(f.ctx, "t1", map[string]any{"k": "v"})
		require.NoError(f.t, err)

		copied, err := f.CopyThread(f.ctx, "t1", "t2")
		require.NoError(f.t, err)
		require.Equal(f.t, "Numbers", copied.State.Title)
		require.JSONEq(f.t, `{"k":"v"}`, string(copied.Metadata))
		require.Equal(f.t, []string{"one", "answer"}, f.viewTexts("t2"))
		list, err := f.Checkpoints(f.ctx, "t2", CheckpointQuery{})
		require.NoError(f.t, err)
		require.Len(f.t, list, 1)

		// What happens in the copy stays there.
		f.submit("t2", "r2", "two")
		f.start("t2", "r2", 2)
		require.Equal(f.t, []string{"one", "answer", "two"}, f.viewTexts("t2"))
		require.Equal(f.t, []string{"one", "answer"}, f.viewTexts("t1"))
		_, err = f.CopyThread(f.ctx, "t9", "t3")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}
