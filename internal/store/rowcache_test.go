package store

import (
	"strings"
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

// TestBoundedCache: large rows do not stay in memory all at once, and what is
// read is right whether it was kept or not.
func TestBoundedCache(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	f.submit("t", "r", "question")
	f.start("t", "r", 0)
	const size = 9 << 20
	for n := int64(1); n < 10; n++ {
		cursor := thread.Cursor{}
		cursor.Extend(n)
		f.finish(f.owner(ref("t", "r", int(n))), n, strings.Repeat("x", size))
		rows, err := f.Messages(f.ctx, "t", cursor)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.Len(t, rows[0].Message.Content.String(), size)
		require.LessOrEqual(t, f.cache.bytes.Load(), int64(rowsCachedBytes))
	}
	require.Less(t, f.cache.rows.Len(), 9)
	var left int64
	for _, row := range f.cache.rows.Values() {
		left += weight(&row)
	}
	require.Equal(t, left, f.cache.bytes.Load())
}
