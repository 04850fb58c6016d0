package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// TestMessagesAreCurrent reads a growing transcript again and again: rows that
// are known are not read anew, and what has changed since is seen.
func TestMessagesAreCurrent(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t", "r", "question")
		f.start("t", "r", 0)
		cursor := thread.Cursor{}
		cursor.Extend(0)
		read := func() []string {
			rows, err := f.Messages(f.ctx, "t", cursor)
			require.NoError(f.t, err)
			return texts(rows)
		}
		require.Equal(f.t, []string{"question"}, read())
		for n := int64(1); n < 5; n++ {
			cursor.Extend(n)
			f.finish(f.owner(ref("t", "r", int(n))), n, "answer")
			require.Len(f.t, read(), int(n)+1)
		}
		in := commitInput(ref("t", "r", 9), 5, thread.StatusIdle)
		in.Revisions = []thread.Revision{{MessageID: thread.MessageID("r", 2), AppendText: "revised"}}
		f.commit(in)
		require.Equal(f.t, []string{"question", "answer", "answer\n\nrevised", "answer", "answer"}, read())
		require.Equal(f.t, []string{"question", "answer", "answer\n\nrevised", "answer", "answer"}, read(), "from memory")
	})
}

// TestMessagesOfAThreadThatWasMadeAgain: the ids of a deleted thread may come
// again with other texts.
func TestMessagesOfAThreadThatWasMadeAgain(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		cursor := thread.Cursor{}
		cursor.Extend(0)
		for _, text := range []string{"first life", "second life"} {
			f.submit("t", "r", text)
			f.start("t", "r", 0)
			rows, err := f.Messages(f.ctx, "t", cursor)
			require.NoError(f.t, err)
			require.Equal(f.t, []string{text}, texts(rows))
			require.NoError(f.t, f.DeleteThread(f.ctx, "t"))
		}
	})
}
