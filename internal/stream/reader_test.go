package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/store"
)

// What was there before, what comes while the reader joins, and what comes
// after: every event once, in order, from any place.
func TestReaderJoins(t *testing.T) {
	t.Parallel()
	const total = 3000
	h, l := New(), &table{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for l.last < total {
			h.Publish("t1", l.add(1+int(l.last%7)))
		}
	})
	errs := make([]error, 30)
	for i := range errs {
		wg.Go(func() {
			for l.at() < int64(i*total/40) {
				time.Sleep(100 * time.Microsecond)
			}
			after := int64(i * total / 60)
			r := NewReader(l, h, "t1", after)
			defer r.Close()
			errs[i] = readTo(soon(t), r, after, total)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Empty(t, h.threads)
}

func (l *table) at() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Any mixture of writes that are published, late, or never, of readers that
// start, pause and break off: no doubles, no gaps.
func TestReaderProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h, l := New(), &table{}
		var late [][]store.Event
		readers := map[int]*Reader{}
		places := map[int]int64{}
		defer func() {
			for _, r := range readers {
				r.Close()
			}
		}()
		for range rapid.IntRange(1, 40).Draw(rt, "actions") {
			switch rapid.IntRange(0, 5).Draw(rt, "action") {
			case 0:
				h.Publish("t1", l.add(rapid.IntRange(1, 5).Draw(rt, "n")))
			case 1: // by another process, or published out of order
				late = append(late, l.add(rapid.IntRange(1, 1500).Draw(rt, "n")))
			case 2:
				for _, events := range late {
					h.Publish("t1", events)
				}
				late = nil
			case 3:
				id := len(readers)
				places[id] = int64(rapid.IntRange(0, int(l.last)).Draw(rt, "after"))
				readers[id] = NewReader(l, h, "t1", places[id])
				readers[id].poll = time.Millisecond
			default:
				if len(readers) == 0 {
					continue
				}
				id := rapid.IntRange(0, len(readers)-1).Draw(rt, "reader")
				places[id] = readOnce(rt, readers[id], places[id], l.last)
			}
		}
		for id, r := range readers {
			for places[id] < l.last {
				places[id] = readOnce(rt, r, places[id], l.last)
			}
		}
	})
}

// readOnce reads once; a reader that has everything is broken off instead.
func readOnce(rt *rapid.T, r *Reader, after, last int64) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if after == last {
		cancel()
		_, err := r.Next(ctx)
		require.ErrorIs(rt, err, context.Canceled)
		return after
	}
	events, err := r.Next(ctx)
	require.NoError(rt, err)
	for _, e := range events {
		require.Equal(rt, after+1, e.Seq)
		after = e.Seq
	}
	return after
}

// E02, M06: a place whose deltas are gone: one gap, then all that is left.
func TestM06ReaderGap(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	h.Publish("t1", l.add(50))
	l.prune(35)
	ctx := soon(t)

	r := newReader(t, l, h, "t1", 4)
	_, err := r.Next(ctx)
	var gap *GapError
	require.ErrorAs(t, err, &gap)
	require.Equal(t, GapError{Requested: 4, Earliest: 36, Latest: 50}, *gap)
	events, err := r.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{10, 20, 30, 36, 37}, seqs(events)[:5])
	require.Equal(t, int64(50), events[len(events)-1].Seq)
	h.Publish("t1", l.add(1))
	events, err = r.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{51}, seqs(events))

	whole := newReader(t, l, h, "t1", 35)
	require.NoError(t, readTo(ctx, whole, 35, 51))

	future := newReader(t, l, h, "t1", 1000)
	_, err = future.Next(ctx)
	require.ErrorAs(t, err, &gap)
	require.Equal(t, GapError{Requested: 1000, Earliest: 36, Latest: 51}, *gap)
	h.Publish("t1", l.add(1))
	require.NoError(t, readTo(ctx, future, 51, 52))
}

// A reader that stands still while its place is pruned is told as well, once.
func TestM06ReaderGapWhileBehind(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	l.add(2 * pageSize)
	ctx := soon(t)
	r := newReader(t, l, h, "t1", 0)
	events, err := r.Next(ctx)
	require.NoError(t, err)
	require.Len(t, events, pageSize)
	l.prune(2*pageSize - 3)
	gaps := 0
	after := int64(pageSize)
	for after < 2*pageSize {
		events, err := r.Next(ctx)
		var gap *GapError
		if errors.As(err, &gap) {
			gaps++
			require.Equal(t, int64(pageSize), gap.Requested)
			continue
		}
		require.NoError(t, err)
		for _, e := range events {
			require.Greater(t, e.Seq, after)
			after = e.Seq
		}
	}
	require.Equal(t, 1, gaps)
}

// Rows of another process are found by polling, and at once after a wake-up.
func TestReaderPolls(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	r := newReader(t, l, h, "t1", 0)
	r.poll = 5 * time.Millisecond
	l.add(2)
	require.NoError(t, readTo(soon(t), r, 0, 2))
	timer := time.AfterFunc(20*time.Millisecond, func() { l.add(3) })
	defer timer.Stop()
	require.NoError(t, readTo(soon(t), r, 2, 5))

	r.poll = time.Hour
	h.Publish("t1", l.add(1))
	require.NoError(t, readTo(soon(t), r, 5, 6))
	timer = time.AfterFunc(20*time.Millisecond, func() { l.add(1); h.Publish("t1", nil) })
	defer timer.Stop()
	require.NoError(t, readTo(soon(t), r, 6, 7))
}

// A reader that waits asks nothing of the table, however many there are (M12).
func TestReaderIdle(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	h.Publish("t1", l.add(1))
	r := newReader(t, l, h, "t1", 0)
	r.poll = time.Hour
	ctx := soon(t)
	require.NoError(t, readTo(ctx, r, 0, 1))
	reads := l.reads
	for i := range int64(100) {
		h.Publish("t1", l.add(1))
		require.NoError(t, readTo(ctx, r, i+1, i+2))
	}
	require.LessOrEqual(t, l.reads, reads+1)
}

func TestReaderThreadGone(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	l.add(1)
	r := newReader(t, l, h, "t1", 0)
	r.poll = time.Millisecond
	require.NoError(t, readTo(soon(t), r, 0, 1))
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	_, err := r.Next(soon(t))
	require.ErrorIs(t, err, store.ErrNotFound)

	_, err = newReader(t, l, h, "t1", 0).Next(soon(t))
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A thread that was deleted and made anew has a shorter log.
func TestReaderThreadMadeAnew(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	l.add(5)
	r := newReader(t, l, h, "t1", 0)
	r.poll = time.Millisecond
	require.NoError(t, readTo(soon(t), r, 0, 5))
	l.mu.Lock()
	l.events, l.last = nil, 0
	l.mu.Unlock()
	l.add(2)
	_, err := r.Next(soon(t))
	var gap *GapError
	require.ErrorAs(t, err, &gap)
	require.Equal(t, GapError{Requested: 5, Earliest: 1, Latest: 2}, *gap)
	l.add(1)
	require.NoError(t, readTo(soon(t), r, 2, 3))
}

// M12: browsers that go leave nothing behind.
func TestReadersLeave(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	ctx, cancel := context.WithCancel(soon(t))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r := NewReader(l, h, "t1", 0)
			for {
				if _, err := r.Next(ctx); err != nil {
					return // without Close: the context has ended it
				}
			}
		})
	}
	h.Publish("t1", l.add(10))
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.threads["t1"] != nil && len(h.threads["t1"].subs) == 50
	}, 10*time.Second, time.Millisecond)
	cancel()
	wg.Wait()
	require.Empty(t, h.threads)
}

// The whole way: a store that announces to the hub, readers that join while it
// writes, and a gap after pruning.
func TestReaderOnStore(t *testing.T) {
	t.Parallel()
	s, h := openStore(t)
	o := claim(t, s, "t1")
	const deltas = 150
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			r := NewReader(s, h, "t1", 0)
			defer r.Close()
			errs[i] = readTo(soon(t), r, 0, deltas+1)
		})
	}
	for i := range deltas {
		require.NoError(t, s.Append(t.Context(), o, text(fmt.Sprint(i))))
	}
	finish(t, s, o)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))

	n, err := s.PruneDeltas(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, deltas, n)
	r := newReader(t, s, h, "t1", 0)
	_, err = r.Next(soon(t))
	var gap *GapError
	require.ErrorAs(t, err, &gap)
	require.Equal(t, GapError{Requested: 0, Earliest: deltas + 1, Latest: deltas + 1}, *gap)
	events, err := r.Next(soon(t))
	require.NoError(t, err)
	require.Equal(t, []int64{deltas + 1}, seqs(events))
}
