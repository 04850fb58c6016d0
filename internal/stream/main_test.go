package stream

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a log in memory. What is appended can be published later, or never,
// as when another process wrote it.
type table struct {
	mu     sync.Mutex
	events []store.Event
	last   int64
	pruned int64
	gone   bool
	reads  int
}

// add appends n events and gives them.
func (l *table) add(n int) []store.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var added []store.Event
	for range n {
		l.last++
		added = append(added, store.Event{Thread: "t1", Seq: l.last, Type: store.EventDelta, Data: fmt.Appendf(nil, "%d", l.last)})
	}
	l.events = append(l.events, added...)
	return added
}

// prune removes the events up to seq, but each tenth.
func (l *table) prune(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := []store.Event{}
	for _, e := range l.events {
		if e.Seq > seq || e.Seq%10 == 0 {
			kept = append(kept, e)
			continue
		}
		l.pruned = e.Seq
	}
	l.events = kept
}

func (l *table) Events(_ context.Context, _ string, after int64, limit int) ([]store.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	var page []store.Event
	for _, e := range l.events {
		if e.Seq > after && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

func (l *table) FirstSeq(context.Context, string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return 0, store.ErrNotFound
	}
	return l.pruned + 1, nil
}

func (l *table) LastSeq(context.Context, string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return 0, store.ErrNotFound
	}
	return l.last, nil
}

// newReader makes a reader that is closed with the test.
func newReader(tb testing.TB, log Log, hub *Hub, threadID string, after int64) *Reader {
	tb.Helper()
	r := NewReader(log, hub, threadID, after)
	tb.Cleanup(r.Close)
	return r
}

// readTo reads until seq and checks that every event comes once, in order.
func readTo(ctx context.Context, r *Reader, after, seq int64) error {
	for after < seq {
		events, err := r.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Seq != after+1 {
				return fmt.Errorf("after %d came %d", after, e.Seq)
			}
			after = e.Seq
		}
	}
	return nil
}

func seqs(events []store.Event) []int64 {
	var list []int64
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

// openStore is a real store whose events go to a hub.
func openStore(tb testing.TB) (*store.Store, *Hub) {
	tb.Helper()
	hub := New()
	s, err := store.Open(tb.Context(), store.Options{Path: filepath.Join(tb.TempDir(), "deerflow.db"), OnEvents: hub.Publish})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s, hub
}

// claim makes a thread and gives the right to write one of its messages.
func claim(tb testing.TB, s *store.Store, threadID string) store.Owner {
	tb.Helper()
	_, err := s.CreateThread(tb.Context(), store.NewThread{ID: threadID, User: "ann"}, store.IfExistsNothing)
	require.NoError(tb, err)
	o := store.Owner{Ref: step.Ref{Thread: threadID, User: "ann", Run: "r1", Step: 2}, MessageID: "m1"}
	c, err := s.Claim(tb.Context(), store.Claim{Ref: o.Ref, MessageID: o.MessageID})
	require.NoError(tb, err)
	o.Claim = c.Claim
	return o
}

func text(s string) store.NewEvent {
	return store.NewEvent{Type: store.EventDelta, Data: store.Delta{MessageID: "m1", Text: s}}
}

func finish(tb testing.TB, s *store.Store, o store.Owner) {
	tb.Helper()
	_, err := s.Finish(tb.Context(), o, store.NewRow{Message: thread.Message{ID: o.MessageID, Role: thread.RoleAI}})
	require.NoError(tb, err)
}

// soon bounds a test that would hang if it failed.
func soon(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}
