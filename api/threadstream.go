package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// Modes of the stream of a thread.
const (
	threadRuns      = "run_modes"    // what the streams of the runs have
	threadLifecycle = "lifecycle"    // starts and ends of runs
	threadState     = "state_update" // the state, whenever it changes
)

// frameRunDone ends a run in the stream of its thread, which goes on.
const frameRunDone = "run_done"

// threadTail follows all runs of a thread.
type threadTail struct {
	tail
	from   place
	modes  []string
	active map[string]*builder // by run
}

// joinThread streams what happens in a thread, run after run, from now on or
// from where the reader stood. It ends with the connection, or with the thread.
func (s *Server) joinThread(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	modes, err := threadModes(c)
	if err != nil {
		return err
	}
	ctx, stop := s.untilClosed(c.Request().Context())
	defer stop()
	tt := &threadTail{
		tail:   tail{s: s, f: followed{thread: t.ID, dialect: dialectOf(c), lastEventID: c.Request().Header.Get("Last-Event-ID")}},
		modes:  modes,
		active: map[string]*builder{},
	}
	if err := tt.locate(ctx); err != nil {
		return err
	}
	defer tt.close()
	w, err := s.openSSE(c)
	if err == nil {
		tt.out = w
		err = tt.run(ctx)
	}
	if err != nil && ctx.Err() == nil && !isGone(err) {
		s.o.Logger.Error("Stream a thread", "request_id", requestID(c), "thread", t.ID, "error", err)
	}
	return nil
}

func threadModes(c echo.Context) ([]string, error) {
	modes := queryList(c, "stream_mode")
	for _, mode := range modes {
		switch mode {
		case threadRuns, threadLifecycle, threadState:
		default:
			return nil, invalidField("literal_error",
				"Input should be "+quotedList([]string{threadRuns, threadLifecycle, threadState}), "query", "stream_mode")
		}
	}
	if len(modes) == 0 {
		return []string{threadRuns}, nil
	}
	return modes, nil
}

// locate finds where to begin to read: at the end of the log, or at the commit
// before the place at which the reader stood.
func (t *threadTail) locate(ctx context.Context) error {
	last, err := t.s.o.Store.LastSeq(ctx, t.f.thread)
	if err != nil {
		return storeError(err, threadNotFound(t.f.thread))
	}
	t.from, t.pos = afterEvent(last), last
	if t.f.lastEventID == "-1" {
		t.from, t.pos = place{}, 0
		return nil
	}
	if from, ok := parsePlace(t.f.lastEventID); ok && from.seq <= last {
		t.from = from
		t.pos, _, err = t.commitBefore(ctx, 0, from.seq)
	}
	return err
}

func (t *threadTail) run(ctx context.Context) error {
	for {
		events, err := t.read(ctx)
		if errors.Is(err, store.ErrUnavailable) {
			err = t.waitForStore(ctx)
		}
		if err != nil {
			return err
		}
		for i := range events {
			t.pos = events[i].Seq
			if err := t.event(ctx, &events[i]); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			_, err := t.s.o.Store.GetThread(ctx, t.f.thread)
			if errors.Is(err, store.ErrNotFound) {
				return t.out.settle() // the thread was deleted
			}
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				return err
			}
		}
		if err := t.out.settle(); err != nil {
			return err
		}
	}
}

// event hands the frames of an event on; the end of a run ends no stream.
func (t *threadTail) event(ctx context.Context, ev *store.Event) error {
	b, err := t.builder(ctx, ev)
	if err != nil || b == nil {
		return err
	}
	frames, err := b.event(ctx, ev)
	if err != nil {
		return err
	}
	for i := range frames {
		if frames[i].event == frameEnd {
			continue
		}
		if err := t.out.frame(frames[i]); err != nil {
			return err
		}
	}
	if b.ended == nil {
		return nil
	}
	delete(t.active, ev.Run)
	id := place{ev.Seq, b.n}
	if !t.from.before(id) {
		return nil
	}
	data, err := marshalDone(ev, b)
	if err != nil {
		return err
	}
	return t.out.frame(frame{id: id, event: frameRunDone, data: data})
}

// builder is the one for the run of an event; nil for an event of no run.
func (t *threadTail) builder(ctx context.Context, ev *store.Event) (*builder, error) {
	if b := t.active[ev.Run]; b != nil {
		return b, nil
	}
	if thread.IsUpdate(ev.Run) {
		return t.updated(ev), nil
	}
	run, err := t.s.o.Store.GetRun(ctx, t.f.thread, ev.Run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // it was deleted
	}
	if err != nil {
		return nil, err
	}
	b := t.s.newBuilder(t.f.thread, run.ID, t.f.dialect, t.runModes(&run))
	b.from = t.from
	b.started = ev.Type != store.EventRunStart
	t.active[run.ID] = b
	return b, nil
}

// updated is the builder for an update of the state, which is of no run; nil when
// nobody wants to see it.
func (t *threadTail) updated(ev *store.Event) *builder {
	if ev.Type != store.EventCheckpoint || !slices.Contains(t.modes, threadState) {
		return nil
	}
	b := t.s.newBuilder(t.f.thread, ev.Run, t.f.dialect, modeValues)
	b.from, b.started = t.from, true
	return b
}

// runModes are the modes in which the stream shows a run.
func (t *threadTail) runModes(run *store.Run) modeSet {
	var modes modeSet
	for _, mode := range t.modes {
		switch mode {
		case threadRuns:
			modes |= startedModes(run)
		case threadState:
			modes |= modeValues
		}
	}
	return modes
}

func marshalDone(ev *store.Event, b *builder) ([]byte, error) {
	return json.Marshal(map[string]any{"run_id": ev.Run, "thread_id": ev.Thread, "status": b.ended.Status})
}
