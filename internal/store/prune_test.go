package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestPruneDeltas(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		f.submit(th, "r1", "hi")
		f.start(th, "r1", 0)              // 1, 2
		done := f.owner(ref(th, "r1", 2)) //
		open := f.owner(ref(th, "r1", 3)) //
		for range 3 {                     // 3 to 8
			require.NoError(f.t, f.Append(f.ctx, done, delta(done, "x")))
			require.NoError(f.t, f.Append(f.ctx, open, delta(open, "y")))
		}
		done = f.owner(ref(th, "r1", 2)) // 9: reset
		require.NoError(f.t, f.Append(f.ctx, done, delta(done, "z"), NewEvent{EventCustom, map[string]any{"type": "llm_retry"}}))
		f.finish(done, 1, "z") // 12
		empty := f.owner(ref(th, "r1", 4))
		in := commitInput(ref(th, "r1", 5), 2, thread.StatusBusy)
		in.Seals = []step.Seal{{MessageID: empty.MessageID, Pos: 2, Stream: true}}
		f.commit(in) // 13

		n, err := f.PruneDeltas(f.ctx, time.Now().Add(-time.Hour))
		require.NoError(f.t, err)
		require.Zero(f.t, n)
		first, err := f.FirstSeq(f.ctx, th)
		require.NoError(f.t, err)
		require.Equal(f.t, int64(1), first)

		n, err = f.PruneDeltas(f.ctx, time.Now().Add(time.Hour))
		require.NoError(f.t, err)
		require.Equal(f.t, 5, n)
		events, err := f.Events(f.ctx, th, 0, 0)
		require.NoError(f.t, err)
		require.Equal(f.t, "run.start message delta delta delta custom message checkpoint", types(events))
		first, err = f.FirstSeq(f.ctx, th)
		require.NoError(f.t, err)
		require.Equal(f.t, int64(11), first)
		last, err := f.LastSeq(f.ctx, th)
		require.NoError(f.t, err)
		require.Equal(f.t, int64(13), last)

		// The open message is gathered as before, the sealed one stays shut.
		seal := commitInput(ref(th, "r1", 6), 4, thread.StatusIdle)
		seal.Seals = []step.Seal{{MessageID: open.MessageID, Pos: 3, Stream: true}}
		require.Equal(f.t, "yyy", f.commit(seal).Messages[0].Text)
		_, err = f.Claim(f.ctx, Claim{Ref: empty.Ref, MessageID: empty.MessageID})
		require.ErrorIs(f.t, err, ErrFenced)
		c, err := f.Claim(f.ctx, Claim{Ref: done.Ref, MessageID: done.MessageID})
		require.NoError(f.t, err)
		require.Equal(f.t, "z", c.Done.Message.Content.String())

		n, err = f.PruneDeltas(f.ctx, time.Now().Add(time.Hour))
		require.NoError(f.t, err)
		require.Equal(f.t, 3, n)
		n, err = f.PruneDeltas(f.ctx, time.Now().Add(time.Hour))
		require.NoError(f.t, err)
		require.Zero(f.t, n)
		require.Equal(f.t, 1, f.count("claims"))

		_, err = f.FirstSeq(f.ctx, "none")
		require.ErrorIs(f.t, err, ErrNotFound)
		_, err = f.LastSeq(f.ctx, "none")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}

// More messages than fit in one go.
func TestPruneMany(t *testing.T) {
	t.Parallel()
	f := openFixture(t, Options{Path: sqliteOptions(t).Path, Synchronous: "NORMAL"})
	const messages = 2*pruneBatch + 10
	for i := range messages {
		th := []string{"a", "b", "c"}[i%3]
		if i < 3 {
			f.newThread(th)
		}
		o := f.owner(ref(th, "r", i))
		require.NoError(t, f.Append(f.ctx, o, delta(o, "x")))
		f.finish(o, int64(i), "x")
	}
	n, err := f.PruneDeltas(f.ctx, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, messages, n)
	require.Zero(t, f.count("claims"))
	require.Equal(t, messages, f.count("messages"))
}

// Another process on the same Postgres hears of new events by their thread.
func TestListen(t *testing.T) {
	t.Parallel()
	f := openFixture(t, postgresOptions(t))
	other, err := Open(f.ctx, f.opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(f.ctx)
	heard := make(chan string, 100)
	stopped := make(chan error, 2)
	go func() { stopped <- other.Listen(ctx, func(id string) { heard <- id }) }()
	own := make(chan string, 100)
	go func() { stopped <- f.Listen(ctx, func(id string) { own <- id }) }()
	f.newThread("t1")
	o := f.owner(ref("t1", "r1", 2))
	require.Eventually(t, func() bool { // until the listener is there
		require.NoError(t, f.Append(f.ctx, o, delta(o, "x")))
		select {
		case id := <-heard:
			return id == "t1"
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-stopped, context.Canceled)
	require.ErrorIs(t, <-stopped, context.Canceled)
	require.Empty(t, own, "a process does not hear itself")
	require.NoError(t, other.Close())
}

func TestListenSQLite(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	require.ErrorIs(t, f.Listen(ctx, func(string) {}), context.Canceled)
}
