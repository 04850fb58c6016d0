package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"deerflow/internal/model"
	"deerflow/internal/store"
)

// coalesce is how long pieces of a stream are gathered before they become one
// event. The first piece goes out at once.
const coalesce = 40 * time.Millisecond

// awayPause is how long the pieces are gathered when the database is away.
const awayPause = time.Second

// streamer writes the pieces of a model's message to the event log. A write
// that was fenced ends the call: somebody else owns the message now. While the
// database is away the pieces are kept, and the model goes on.
type streamer struct {
	ctx   context.Context
	st    *store.Store
	owner store.Owner

	mu      sync.Mutex
	pending store.Delta
	some    bool
	last    time.Time
	timer   *time.Timer
	err     error
	closed  bool
}

func newStreamer(ctx context.Context, st *store.Store, owner store.Owner) *streamer {
	return &streamer{ctx: ctx, st: st, owner: owner, pending: store.Delta{MessageID: owner.MessageID}}
}

// add takes a piece. It returns the error of an earlier write, too.
func (s *streamer) add(d model.Delta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.merge(d)
	if !s.some {
		return nil
	}
	wait := coalesce - time.Since(s.last)
	if wait <= 0 {
		return s.flush()
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.tick)
	}
	return nil
}

func (s *streamer) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if !s.closed && s.err == nil {
		_ = s.flush() // the next piece, or the end, returns it
	}
}

// flush writes what was gathered; the lock is held.
func (s *streamer) flush() error {
	if !s.some || s.err != nil {
		return s.err
	}
	event := store.NewEvent{Type: store.EventDelta, Data: s.pending}
	err := s.st.Append(s.ctx, s.owner, event)
	s.last = time.Now()
	if errors.Is(err, store.ErrUnavailable) && s.ctx.Err() == nil {
		s.last = s.last.Add(awayPause)
		if s.timer == nil && !s.closed {
			s.timer = time.AfterFunc(awayPause, s.tick)
		}
		return nil
	}
	s.err = err
	s.pending, s.some = store.Delta{MessageID: s.owner.MessageID}, false
	return s.err
}

// end stops the timer. What was gathered and not written is given back, to go
// into the transaction that writes the message.
func (s *streamer) end() []store.NewEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if !s.some || s.err != nil {
		return nil
	}
	s.some = false
	return []store.NewEvent{{Type: store.EventDelta, Data: s.pending}}
}

func (s *streamer) merge(d model.Delta) {
	s.pending.Text += d.Text
	s.pending.Reasoning += d.Reasoning
	if d.Text != "" || d.Reasoning != "" {
		s.some = true
	}
	for _, call := range d.ToolCalls {
		s.some = true
		n := len(s.pending.ToolCalls)
		if n > 0 && s.pending.ToolCalls[n-1].Index == call.Index && call.ID == "" && call.Name == "" {
			s.pending.ToolCalls[n-1].Args += call.Args
			continue
		}
		s.pending.ToolCalls = append(s.pending.ToolCalls, store.ToolCallDelta{
			Index: call.Index, ID: call.ID, Name: call.Name, Args: call.Args,
		})
	}
}
