package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// A compaction moves what a model reads. What is listed stays whole, before and
// after the commit that tells of it, in a copy, and at every place of the log.
func TestCompactedRowsStayListed(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		f.submit(th, "r1", "q1")
		f.start(th, "r1", 0)
		f.finish(f.owner(ref(th, "r1", 2)), 1, "a1")
		f.commit(commitInput(ref(th, "r1", 3), 2, thread.StatusIdle))
		f.submit(th, "r2", "q2")
		f.start(th, "r2", 2)
		o := f.owner(ref(th, "r2", 1))
		_, err := f.Finish(f.ctx, o, NewRow{Pos: 3, Message: thread.Summary(o.MessageID, "the summary")})
		require.NoError(f.t, err)
		look := func(id string, want ...string) {
			f.t.Helper()
			v, err := f.View(f.ctx, id, ViewOptions{})
			require.NoError(f.t, err)
			require.Equal(f.t, want, texts(v.Rows))
			before, err := f.View(f.ctx, id, ViewOptions{AtSeq: v.Seq})
			require.NoError(f.t, err)
			require.Equal(f.t, want, texts(before.Rows))
		}
		look(th, "q1", "a1", "q2")
		in := commitInput(ref(th, "r2", 2), 4, thread.StatusIdle)
		in.Cursor = thread.Cursor{
			Segments:  []thread.Segment{{From: 0, To: 3}},
			Compacted: &thread.Compacted{Summary: 3, Cut: 2, Rescued: []int64{0}},
		}
		in.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}, {RunID: "r2", Status: thread.RunSuccess}}
		f.commit(in)
		look(th, "q1", "a1", "q2")
		_, err = f.CopyThread(f.ctx, th, "copy")
		require.NoError(f.t, err)
		look("copy", "q1", "a1", "q2")
		for _, id := range []string{th, "copy"} {
			head, err := f.LoadHead(f.ctx, id, nil)
			require.NoError(f.t, err)
			require.Equal(f.t, in.Cursor, head.Checkpoint.Cursor)
			require.Equal(f.t, []string{"the summary", "q1", "q2"}, texts(head.Rows), "what a model reads")
		}
		list, err := f.Checkpoints(f.ctx, th, CheckpointQuery{})
		require.NoError(f.t, err)
		require.NotNil(f.t, list[0].Cursor.Compacted)
		require.Nil(f.t, list[1].Cursor.Compacted, "a checkpoint from before")
	})
}

func TestPutPlan(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "q")
		require.NoError(f.t, f.PutPlan(f.ctx, "t1", "h", []byte(`{"a":1}`)))
		require.NoError(f.t, f.PutPlan(f.ctx, "t1", "h", []byte(`{"a":1}`)))
		body, err := f.GetPlan(f.ctx, "h")
		require.NoError(f.t, err)
		require.JSONEq(f.t, `{"a":1}`, string(body))
		require.ErrorIs(f.t, f.PutPlan(f.ctx, "none", "h", nil), ErrThreadGone)
	})
}
