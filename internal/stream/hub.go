package stream

import (
	"sync"

	"deerflow/internal/store"
)

const (
	// ringEvents and ringBytes bound what is kept of a thread for its readers.
	// Whoever falls further behind reads the table.
	ringEvents = 1024
	ringBytes  = 4 << 20
)

// Hub hands new events of this process to its readers. Of each thread that has
// readers it keeps the newest events; it never waits for one of them.
type Hub struct {
	mu      sync.Mutex
	threads map[string]*topic
}

// topic is a thread with readers. Its events have numbers without gaps.
type topic struct {
	subs   map[*Subscription]struct{}
	events []store.Event
	bytes  int
}

// New makes a hub without readers.
func New() *Hub { return &Hub{threads: map[string]*topic{}} }

// Publish hands over what was appended to a thread, in order. Without events it
// only wakes the readers, who then look into the table.
func (h *Hub) Publish(threadID string, events []store.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.threads[threadID]
	if t == nil {
		return
	}
	if len(events) == 0 {
		t.events, t.bytes = nil, 0
	}
	t.keep(events)
	for sub := range t.subs {
		select {
		case sub.wake <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// keep appends events to the ring. Where numbers are missing, because another
// process wrote, it starts anew: readers find the rest in the table.
func (t *topic) keep(events []store.Event) {
	for _, e := range events {
		if n := len(t.events); n > 0 {
			newest := t.events[n-1].Seq
			if e.Seq <= newest {
				continue
			}
			if e.Seq != newest+1 {
				t.events, t.bytes = nil, 0
			}
		}
		t.events = append(t.events, e)
		t.bytes += len(e.Data)
	}
	drop := 0
	for len(t.events)-drop > ringEvents || t.bytes > ringBytes && drop < len(t.events) {
		t.bytes -= len(t.events[drop].Data)
		drop++
	}
	if drop > 0 {
		clear(t.events[:drop]) // readers have copies
		t.events = t.events[drop:]
	}
}

// Subscription is one reader's place at a thread. Close must be called.
type Subscription struct {
	// C gets a value after events were published; several may share one.
	C <-chan struct{}

	hub    *Hub
	thread string
	wake   chan struct{}
}

// Subscribe makes a reader known: what is published from now on wakes it.
func (h *Hub) Subscribe(threadID string) *Subscription {
	wake := make(chan struct{}, 1)
	sub := &Subscription{C: wake, hub: h, thread: threadID, wake: wake}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.threads[threadID]
	if t == nil {
		t = &topic{subs: map[*Subscription]struct{}{}}
		h.threads[threadID] = t
	}
	t.subs[sub] = struct{}{}
	return sub
}

// Close ends the subscription. The events of a thread go with its last reader.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	t := s.hub.threads[s.thread]
	if t == nil {
		return
	}
	delete(t.subs, s)
	if len(t.subs) == 0 {
		delete(s.hub.threads, s.thread)
	}
}

// after gives the kept events after seq, if they follow it without a gap. Not
// ok means that something newer than seq is known of which the table has to be
// asked.
func (s *Subscription) after(seq int64) (events []store.Event, ok bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	t := s.hub.threads[s.thread]
	if t == nil || len(t.events) == 0 {
		return nil, false
	}
	first, last := t.events[0].Seq, t.events[len(t.events)-1].Seq
	switch {
	case last <= seq:
		return nil, true
	case first > seq+1:
		return nil, false
	}
	return append([]store.Event(nil), t.events[seq+1-first:]...), true
}
