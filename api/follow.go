package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deerflow/internal/store"
	"deerflow/internal/stream"
	"deerflow/internal/thread"
)

// followed says which run is followed, how, and since when.
type followed struct {
	thread, run string
	dialect     dialect
	modes       modeSet
	lastEventID string // of the last frame that the reader has; "" or "-1" for none
}

// sink takes the frames of a run.
type sink interface {
	// frame takes one frame; it must not keep it.
	frame(f frame) error
	// settle is called when everything that is there was taken, and while
	// nothing comes. It sends what is held back, and a sign of life if one is due.
	settle() error
	// notice tells the reader, beside the frames, why nothing comes.
	notice(text string) error
	// due is how long nothing may come before settle is called.
	due() time.Duration
}

// outcome is how a run was found to end.
type outcome struct {
	seq    int64 // of the run.end event; 0 when the log has none
	end    thread.End
	failed bool // with an error that no message tells of
}

// follow hands the frames of a run to out, from where the reader stood until
// the run has ended. It returns early when ctx ends or out fails.
func (s *Server) follow(ctx context.Context, f followed, out sink) (outcome, error) {
	t := &tail{s: s, f: f, out: out}
	if err := t.locate(ctx); err != nil {
		return outcome{}, err
	}
	defer t.close()
	for {
		events, err := t.read(ctx)
		if errors.Is(err, store.ErrUnavailable) {
			err = t.waitForStore(ctx)
		}
		if err != nil {
			return outcome{}, err
		}
		for i := range events {
			if err := t.event(ctx, &events[i]); err != nil {
				return outcome{}, err
			}
			if t.b.ended != nil {
				return outcome{seq: events[i].Seq, end: *t.b.ended, failed: t.b.failed}, out.settle()
			}
		}
		if len(events) == 0 {
			ended, over, err := t.checkRun(ctx)
			if over || err != nil && !errors.Is(err, store.ErrUnavailable) {
				return ended, err
			}
		}
		if err := out.settle(); err != nil {
			return outcome{}, err
		}
	}
}

// tail reads the log of a thread for the frames of one run.
type tail struct {
	s   *Server
	f   followed
	out sink
	b   *builder

	pos      int64 // last event that was read
	terminal bool  // the run had ended when it was looked up
	live     bool  // everything that was there has been read
	reader   *stream.Reader
	atPlace  bool // the event at which the reader stood is still in the log
}

func (t *tail) close() {
	if t.reader != nil {
		t.reader.Close()
	}
}

// locate finds out where to begin to read. What a frame looks like depends on
// what was streamed before it, but never on more than the turn it belongs to,
// so reading begins at the commit before the reader's place.
func (t *tail) locate(ctx context.Context) error {
	st := t.s.o.Store
	last, err := st.LastSeq(ctx, t.f.thread) // before the run: it must not start in between
	if err != nil {
		return fmt.Errorf("find the end of the log of thread %s: %w", t.f.thread, err)
	}
	run, err := st.GetRun(ctx, t.f.thread, t.f.run)
	if err != nil {
		return storeError(err, runNotFound(t.f.run))
	}
	first := run.FirstSeq
	if run.Status == thread.RunPending {
		first = last
	}
	t.terminal = run.Status.Terminal()
	t.b = t.s.newBuilder(t.f.thread, t.f.run, t.f.dialect, t.f.modes)
	from, ok := parsePlace(t.f.lastEventID)
	if !ok || from.seq <= first || from.seq > last {
		t.b.from, t.pos, t.atPlace = afterEvent(first), first, true
		return nil
	}
	t.b.from = from
	if t.pos, t.b.lastStep, err = t.commitBefore(ctx, first, from.seq); err != nil {
		return err
	}
	t.b.started = t.pos > first
	return nil
}

// commitBefore is the last checkpoint event between first and seq, with its step,
// or first if it is not among the newest.
func (t *tail) commitBefore(ctx context.Context, first, seq int64) (at int64, step int, err error) {
	newest, err := t.s.o.Store.Checkpoints(ctx, t.f.thread, store.CheckpointQuery{Limit: 4})
	if err != nil {
		return 0, 0, fmt.Errorf("find the place of a reader of thread %s: %w", t.f.thread, err)
	}
	for i := range newest {
		if at := newest[i].Seq; at < seq && at > first && (t.f.run == "" || newest[i].RunID == t.f.run) {
			return at, newest[i].Step, nil
		}
	}
	return first, 0, nil
}

const logPage = 512

// read gives the next events: from the table as long as there are any, then as
// they come. None at all means that nothing came for as long as the sink can
// wait.
func (t *tail) read(ctx context.Context) ([]store.Event, error) {
	if t.reader == nil {
		events, err := t.s.o.Store.Events(ctx, t.f.thread, t.pos, logPage)
		if err != nil || len(events) > 0 {
			return events, err
		}
		t.reader = stream.NewReader(t.s.o.Store, t.s.o.Hub, t.f.thread, t.pos)
		if t.live = true; t.terminal {
			return nil, nil
		}
	}
	wait, cancel := context.WithTimeout(ctx, t.out.due())
	defer cancel()
	events, err := t.reader.Next(wait)
	var gap *stream.GapError
	switch {
	case err == nil:
		return events, nil
	case errors.As(err, &gap): // what is left of the log is in the table
		t.reader.Close()
		t.reader = nil
		return nil, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	return nil, err
}

// storePause is how long a reader waits before it asks a database again that
// was away.
const storePause = time.Second

// waitForStore lets a reader wait, and know for what: the run waits as well, and
// both go on when the database is back.
func (t *tail) waitForStore(ctx context.Context) error {
	if err := t.out.notice("the database is not available; the stream goes on when it is back"); err != nil {
		return err
	}
	timer := time.NewTimer(min(storePause, t.out.due()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// event hands the frames of an event on.
func (t *tail) event(ctx context.Context, ev *store.Event) error {
	hole := ev.Seq != t.pos+1
	t.pos = ev.Seq
	if ev.Seq == t.b.from.seq {
		t.atPlace = true
	}
	if hole && ev.Seq > t.b.from.seq {
		if err := t.gap(ctx, ev.Seq); err != nil {
			return err
		}
	}
	frames, err := t.b.event(ctx, ev)
	if err != nil {
		return err
	}
	for i := range frames {
		if err := t.out.frame(frames[i]); err != nil {
			return err
		}
	}
	return nil
}

// gap tells the reader that chunks are missing, if it has some of the message
// that they belong to: its place is gone from the log, or they went while it was
// reading.
func (t *tail) gap(ctx context.Context, next int64) error {
	lost := !t.atPlace
	if !lost && len(t.b.streamed) == 0 {
		return nil
	}
	latest, err := t.s.o.Store.LastSeq(ctx, t.f.thread)
	if err != nil {
		return err
	}
	notice := map[string]any{
		"code": "stream_replay_gap", "run_id": t.f.run, "requested_event_id": nil,
		"earliest_available_event_id": place{seq: next}.String(),
		"latest_available_event_id":   place{seq: latest}.String(),
		"recovery":                    "reload_durable_state",
	}
	if lost && t.f.lastEventID != "" {
		notice["requested_event_id"] = t.f.lastEventID
	}
	data, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	t.b.gapped, t.atPlace = lost, true
	return t.out.frame(frame{event: frameGap, data: data})
}

// checkRun looks whether a run that has gone silent still lives: a stream must
// not hang on one that was deleted, or that ended without a word.
func (t *tail) checkRun(ctx context.Context) (ended outcome, over bool, err error) {
	if !t.live {
		return outcome{}, false, nil
	}
	run, err := t.s.o.Store.GetRun(ctx, t.f.thread, t.f.run)
	switch {
	case errors.Is(err, store.ErrNotFound):
		ended.end = thread.End{RunID: t.f.run, Status: thread.RunError, Error: "The run was deleted"}
		ended.failed = true
	case err != nil:
		return ended, false, err
	case !run.Status.Terminal():
		return ended, false, nil
	default:
		last, err := t.s.o.Store.LastSeq(ctx, t.f.thread)
		if err != nil || last > t.pos {
			return ended, false, err // its end is in the log
		}
		ended.end = thread.End{RunID: run.ID, Status: run.Status, StopReason: run.StopReason, Error: run.Error}
	}
	return ended, true, t.finish(&ended)
}

// finish closes a stream whose end is not in the log, with frames that have no
// place in it.
func (t *tail) finish(o *outcome) error {
	var frames []frame
	if !t.b.started {
		data, err := json.Marshal(t.b.metadataData())
		if err != nil {
			return err
		}
		frames = append(frames, frame{event: frameMetadata, data: data})
	}
	if o.failed {
		data, err := json.Marshal(errorData(o.end.Error))
		if err != nil {
			return err
		}
		frames = append(frames, frame{event: frameError, data: data})
	}
	for _, f := range append(frames, frame{event: frameEnd, data: []byte("null")}) {
		if err := t.out.frame(f); err != nil {
			return err
		}
	}
	return t.out.settle()
}
