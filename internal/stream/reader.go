package stream

import (
	"context"
	"fmt"
	"time"

	"deerflow/internal/store"
)

const (
	// pageSize is how many events are read from the table in one go.
	pageSize = 512
	// defaultPoll is how often the table is asked when nothing was published:
	// another process may have written.
	defaultPoll = time.Second
)

// Log is the table of events; *store.Store is one.
type Log interface {
	Events(ctx context.Context, threadID string, after int64, limit int) ([]store.Event, error)
	FirstSeq(ctx context.Context, threadID string) (int64, error)
	LastSeq(ctx context.Context, threadID string) (int64, error)
}

var _ Log = (*store.Store)(nil)

// GapError says that events are missing at the place that was asked for: the
// deltas there were pruned, or the place lies in the future of the log. Whoever
// follows must load the state anew; the reader goes on with what there is.
type GapError struct {
	Requested int64 // the events after this one were asked for
	Earliest  int64 // from this one on the log is whole
	Latest    int64 // the newest event when the gap was found
}

// Error names the three places.
func (e *GapError) Error() string {
	return fmt.Sprintf("events after %d are not all there any more: the log is whole from %d on and ends at %d", e.Requested, e.Earliest, e.Latest)
}

// Reader follows one thread from a place on: every event once, in order. It is
// for one goroutine.
type Reader struct {
	log    Log
	hub    *Hub
	thread string
	after  int64
	poll   time.Duration

	sub     *Subscription
	checked bool          // the place was compared with the log
	known   int64         // up to here, missing events were reported
	stale   bool          // the table may have something that the ring lacks
	held    []store.Event // read, but behind a gap that was reported first
}

// NewReader makes a reader of the events after a sequence number; 0 is all of
// them. Close must be called when Next will not be any more.
func NewReader(log Log, hub *Hub, threadID string, after int64) *Reader {
	return &Reader{log: log, hub: hub, thread: threadID, after: max(after, 0), poll: defaultPoll, stale: true}
}

// Close ends the subscription of the reader. It may be called again.
func (r *Reader) Close() {
	if r.sub != nil {
		r.sub.Close()
		r.sub = nil
	}
}

// Next waits for events that come after those it gave before. A *[GapError] is
// given once for a gap; the next call goes on behind it. A thread that is gone
// is a [store.ErrNotFound]. When ctx ends, so does the subscription, until Next
// is called again. The events are shared: never change them.
func (r *Reader) Next(ctx context.Context) ([]store.Event, error) {
	events, err := r.next(ctx)
	if err != nil {
		if ctx.Err() != nil {
			r.Close()
			r.stale = true
		}
		return nil, err
	}
	r.after = events[len(events)-1].Seq
	return events, nil
}

func (r *Reader) next(ctx context.Context) ([]store.Event, error) {
	// Subscribe before reading: what is committed after the read wakes us.
	if r.sub == nil {
		r.sub = r.hub.Subscribe(r.thread)
	}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	for {
		if len(r.held) > 0 {
			events := r.held
			r.held = nil
			return events, nil
		}
		if events, _ := r.sub.after(r.after); len(events) > 0 {
			return events, nil
		}
		if r.stale {
			if err := r.read(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// check compares the place that was asked for with the log, once.
func (r *Reader) check(ctx context.Context) error {
	if r.checked {
		return nil
	}
	gap, err := r.gap(ctx)
	if err != nil {
		return err
	}
	r.checked = true
	switch {
	case r.after > gap.Latest:
		r.after = gap.Latest
		return gap
	case r.after+1 < gap.Earliest:
		return gap
	}
	return nil
}

func (r *Reader) gap(ctx context.Context) (*GapError, error) {
	earliest, err := r.log.FirstSeq(ctx, r.thread)
	if err != nil {
		return nil, err
	}
	latest, err := r.log.LastSeq(ctx, r.thread)
	if err != nil {
		return nil, err
	}
	r.known = max(r.known, earliest-1)
	return &GapError{Requested: r.after, Earliest: earliest, Latest: latest}, nil
}

// read takes a page from the table. Numbers are given without gaps, so one that
// is missing was pruned after the place was checked.
func (r *Reader) read(ctx context.Context) error {
	events, err := r.log.Events(ctx, r.thread, r.after, pageSize)
	if err != nil {
		return err
	}
	r.held = events
	r.stale = len(events) > 0
	expect := r.after + 1
	for _, e := range events {
		if e.Seq > expect && e.Seq-1 > r.known {
			gap, err := r.gap(ctx)
			if err != nil {
				r.held, r.stale = nil, true
				return err
			}
			return gap
		}
		expect = e.Seq + 1
	}
	return nil
}

// wait returns when the table or the ring may have something newer.
func (r *Reader) wait(ctx context.Context) error {
	timer := time.NewTimer(r.poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.sub.C:
		_, whole := r.sub.after(r.after)
		r.stale = !whole
	case <-timer.C:
		last, err := r.log.LastSeq(ctx, r.thread)
		if err != nil {
			return err
		}
		r.stale = last > r.after
		if last < r.after { // another thread of the same id
			r.checked = false
			return r.check(ctx)
		}
	}
	return nil
}
