package pool

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world counts what is made and ended.
type world struct {
	mu     sync.Mutex
	made   int
	ended  []string
	refuse bool
	now    time.Time
}

func (w *world) create(context.Context) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	return w.made, nil
}

func (w *world) end(_ context.Context, key string, _ int, _ Reason) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return false, nil
	}
	w.ended = append(w.ended, key)
	return true, nil
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func newWorld(t *testing.T, capacity int, idle time.Duration) (*world, *Pool[int]) {
	t.Helper()
	w := &world{now: time.Unix(1000, 0)}
	p := New(Options[int]{Max: capacity, Idle: idle, End: w.end, Now: w.clock, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { p.Close(context.Background()) })
	return w, p
}

func use(t *testing.T, p *Pool[int], w *world, key string) *Lease[int] {
	t.Helper()
	l, err := p.Use(t.Context(), key, w.create)
	require.NoError(t, err)
	return l
}

func TestOneMachineForManyFirstCalls(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 0, 0)
	var group sync.WaitGroup
	var made atomic.Int32
	for range 20 {
		group.Go(func() {
			l, err := p.Use(t.Context(), "a", w.create)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Done()
			if l.Made {
				made.Add(1)
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, w.made)
	require.EqualValues(t, 1, made.Load())
}

func TestFailedMakingLeavesNothing(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 1, 0)
	broken := errors.New("no room")
	for range 3 {
		_, err := p.Use(t.Context(), "a", func(context.Context) (int, error) { return 0, broken })
		require.ErrorIs(t, err, broken)
	}
	require.Empty(t, p.places)
	use(t, p, w, "a").Done()
	require.Empty(t, w.ended)
}

func TestLostMachineIsReplacedOnce(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 0, 0)
	one, two := use(t, p, w, "a"), use(t, p, w, "a")
	require.Equal(t, one.Machine, two.Machine)
	require.NoError(t, one.Replace(t.Context(), w.create))
	require.NoError(t, two.Replace(t.Context(), w.create))
	require.Equal(t, 2, w.made)
	require.Equal(t, 2, one.Machine)
	require.Equal(t, 2, two.Machine)
	require.True(t, one.Made)
	require.False(t, two.Made)
	// A new loss is a new one.
	require.NoError(t, two.Replace(t.Context(), w.create))
	require.Equal(t, 3, two.Machine)
}

func TestCrowdEndsTheLongestUnused(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 2, 0)
	for _, key := range []string{"a", "b"} {
		use(t, p, w, key).Done()
		w.pass(time.Second)
	}
	use(t, p, w, "a").Done() // now b is the older one
	w.pass(time.Second)
	use(t, p, w, "c").Done()
	require.Equal(t, []string{"b"}, w.ended)
}

func TestUsedMachinesAreNeverEnded(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 1, time.Minute)
	a, b := use(t, p, w, "a"), use(t, p, w, "b") // more than wanted
	w.pass(time.Hour)
	p.reap()
	require.Empty(t, w.ended)
	a.Done()
	a.Done() // once is enough
	w.pass(59 * time.Second)
	p.reap()
	require.Empty(t, w.ended)
	w.pass(time.Second)
	p.reap()
	require.Equal(t, []string{"a"}, w.ended)
	b.Done()
}

func TestRefusedEndKeepsTheMachine(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 1, time.Minute)
	use(t, p, w, "a").Done()
	w.refuse = true
	w.pass(time.Hour)
	p.reap()
	use(t, p, w, "b").Done()
	l := use(t, p, w, "a")
	require.False(t, l.Made)
	l.Done()
}

func TestWhoAsksDuringAnEndWaitsForIt(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1000, 0)}
	ending, goOn := make(chan struct{}), make(chan struct{})
	p := New(Options[int]{Idle: time.Minute, Now: w.clock, End: func(ctx context.Context, key string, m int, why Reason) (bool, error) {
		if why == Idle {
			close(ending)
			<-goOn
		}
		return w.end(ctx, key, m, why)
	}})
	t.Cleanup(func() { p.Close(context.Background()) })
	use(t, p, w, "a").Done()
	w.pass(time.Hour)
	go p.reap()
	<-ending
	got := make(chan *Lease[int])
	go func() {
		l, err := p.Use(context.Background(), "a", w.create)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Use(ctx, "a", w.create)
	require.ErrorIs(t, err, context.Canceled)
	close(goOn)
	l := <-got
	require.True(t, l.Made)
	require.Equal(t, 2, l.Machine)
	l.Done()
}

func TestRemoveAndAdopt(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 0, 0)
	p.Adopt("a", 7)
	p.Adopt("a", 8)
	l := use(t, p, w, "a")
	require.Equal(t, 7, l.Machine)
	l.Done()
	require.NoError(t, p.Remove(t.Context(), "a"))
	require.NoError(t, p.Remove(t.Context(), "never there"))
	require.Equal(t, []string{"a"}, w.ended)
	require.Empty(t, p.places)
}

func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 0, time.Minute)
	use(t, p, w, "a").Done()
	use(t, p, w, "b").Done()
	p.Close(context.Background())
	p.Close(context.Background())
	require.ElementsMatch(t, []string{"a", "b"}, w.ended)
	_, err := p.Use(t.Context(), "a", w.create)
	require.ErrorIs(t, err, ErrClosed)
}
