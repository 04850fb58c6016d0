package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// The view follows the cursor: rows that are newer than the checkpoint are in
// it, rows that a rollback left behind are not, and every place in the log keeps
// its own view.
func TestViewFollowsCursor(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		seen := map[int64][]string{}
		look := func(want ...string) {
			f.t.Helper()
			v, err := f.View(f.ctx, th, ViewOptions{})
			require.NoError(f.t, err)
			require.Equal(f.t, want, texts(v.Rows))
			seen[v.Seq] = want
		}
		f.submit(th, "r1", "q1")
		f.start(th, "r1", 0)
		look("q1")
		f.finish(f.owner(ref(th, "r1", 2)), 1, "a1")
		look("q1", "a1")
		in := commitInput(ref(th, "r1", 2), 2, thread.StatusIdle)
		in.Revisions = []thread.Revision{{MessageID: "r1-2", AppendText: "revised"}}
		f.commit(in)
		look("q1", "a1\n\nrevised")

		f.submit(th, "r2", "q2")
		f.start(th, "r2", 2)
		f.finish(f.owner(ref(th, "r2", 2)), 3, "a2")
		look("q1", "a1\n\nrevised", "q2", "a2")

		// Rollback: the cursor goes back, the positions are not given out again.
		back := commitInput(ref(th, "r2", 3), 4, thread.StatusIdle)
		back.Cursor = thread.Cursor{Segments: []thread.Segment{{From: 0, To: 2}}}
		f.commit(back)
		look("q1", "a1\n\nrevised")

		f.submit(th, "r3", "q3")
		f.start(th, "r3", 4)
		look("q1", "a1\n\nrevised", "q3")
		last := commitInput(ref(th, "r3", 2), 5, thread.StatusIdle)
		last.Cursor = thread.Cursor{Segments: []thread.Segment{{From: 4, To: 5}, {From: 0, To: 1}}}
		f.commit(last)
		look("q3", "q1")

		for seq, want := range seen {
			v, err := f.View(f.ctx, th, ViewOptions{AtSeq: seq})
			require.NoError(f.t, err)
			require.Equal(f.t, want, texts(v.Rows), "as of %d", seq)
			require.Equal(f.t, seq, v.Seq)
			require.True(f.t, v.Checkpoint == nil || v.Checkpoint.Seq <= seq)
		}
		head, err := f.LoadHead(f.ctx, th, nil)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"q3", "q1"}, texts(head.Rows))
		require.Equal(f.t, last.CheckpointID, head.Checkpoint.ID)
		head, err = f.LoadHead(f.ctx, th, &thread.Cursor{Segments: []thread.Segment{{From: 1, To: 4}}})
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"a1\n\nrevised", "q2", "a2"}, texts(head.Rows))

		_, err = f.View(f.ctx, "none", ViewOptions{})
		require.ErrorIs(f.t, err, ErrNotFound)
		rows, err := f.Messages(f.ctx, "none", last.Cursor)
		require.NoError(f.t, err)
		require.Empty(f.t, rows)
	})
}

// A thread that starts again from an older checkpoint may give a position out
// twice: the row that was written last has it.
func TestPositionGivenTwice(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		f.finish(f.owner(ref(th, "lost", 2)), 0, "orphan")
		f.finish(f.owner(ref(th, "r1", 2)), 0, "kept")
		require.Equal(f.t, []string{"kept"}, f.viewTexts(th))
		f.commit(commitInput(ref(th, "r1", 3), 1, thread.StatusIdle))
		require.Equal(f.t, []string{"kept"}, f.viewTexts(th))
	})
}

// model is what a thread with any history of steps must look like.
type model struct {
	texts []string // by position
	view  []int64  // positions
	next  int64
}

// Any order of finishes, commits that extend, cut or reorder the cursor, and
// revisions: the view is what the model says, now and at every place before.
func TestViewProperty(t *testing.T) {
	t.Parallel()
	f := openFixture(t, Options{Path: sqliteOptions(t).Path, Synchronous: "NORMAL"})
	threads := 0
	rapid.Check(t, func(rt *rapid.T) {
		threads++
		th := f.newThread(fmt.Sprintf("t%d", threads))
		m := model{}
		history := map[int64][]string{}
		for n := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			r := ref(th, "r", n+2)
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0: // a message is finished, not committed yet
				f.finish(f.owner(r), m.next, fmt.Sprint("m", n))
				m.texts = append(m.texts, fmt.Sprint("m", n))
				m.view = append(m.view, m.next)
				m.next++
			case 1: // all in view is committed, cut or turned around
				if cut := rapid.IntRange(0, len(m.view)).Draw(rt, "cut"); rapid.Bool().Draw(rt, "front") {
					m.view = m.view[cut:]
				} else {
					m.view = m.view[:cut]
				}
				f.commit(m.commit(r))
			case 2: // a message is made by the workflow and another revised
				in := m.commit(r)
				in.Messages = []step.NewMessage{{Pos: m.next, Message: ai(fmt.Sprint("made", n), fmt.Sprint("made", n))}}
				in.Cursor.Extend(m.next)
				in.NextPos++
				m.texts = append(m.texts, fmt.Sprint("made", n))
				m.view = append(m.view, m.next)
				m.next++
				in.Revisions = []thread.Revision{{MessageID: fmt.Sprint("made", n), AppendText: "+"}}
				m.texts[m.next-1] += "\n\n+"
				f.commit(in)
			}
			v, err := f.View(f.ctx, th, ViewOptions{})
			require.NoError(rt, err)
			require.Equal(rt, m.shown(), texts(v.Rows))
			history[v.Seq] = m.shown()
		}
		for seq, want := range history {
			v, err := f.View(f.ctx, th, ViewOptions{AtSeq: seq})
			require.NoError(rt, err)
			require.Equal(rt, want, texts(v.Rows))
		}
		f.t = t
	})
}

func (m *model) shown() []string {
	list := make([]string, len(m.view))
	for i, pos := range m.view {
		list[i] = m.texts[pos]
	}
	return list
}

func (m *model) commit(r step.Ref) step.CommitInput {
	in := commitInput(r, m.next, thread.StatusBusy)
	in.Cursor = thread.Cursor{}
	for _, pos := range m.view {
		in.Cursor.Extend(pos)
	}
	return in
}
