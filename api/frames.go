package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// Names of frames.
const (
	frameMetadata = "metadata"
	frameValues   = "values"
	frameUpdates  = "updates"
	frameMessages = "messages"
	frameCustom   = "custom"
	frameError    = "error"
	frameGap      = "gap"
	frameEnd      = "end"
)

// Names of the nodes that updates and message metadata speak of: LangGraph's
// names for the two halves of a turn.
const (
	nodeModel = "model"
	nodeTools = "tools"
	nodeInput = "__start__"
	nodeEnd   = "__end__"
)

// frame is one server-sent event. The zero id means that it has none.
type frame struct {
	id    place
	event string
	data  []byte // one line of JSON
}

// builder makes the frames of one run out of the event log. The frames of an
// event depend on the log alone, not on who reads and since when, so a reader
// that comes back finds the same ones under the same ids.
type builder struct {
	s       *Server
	thread  string
	run     string
	dialect dialect
	modes   modeSet
	from    place // frames up to here were seen

	lastStep int             // of the newest commit that was read
	started  bool            // the run.start was read, or lies before what is read
	inputEnd int64           // last event of the messages that the run was started with
	streamed map[string]bool // messages with chunks that are not complete yet
	named    map[string]bool // messages whose legacy metadata was sent
	gapped   bool            // a gap was reported and no AI message has ended since
	ended    *thread.End
	failed   bool // the run ended with an error that no message tells of

	// of the event that is being read
	ev  *store.Event
	n   int
	out []frame
}

func (s *Server) newBuilder(threadID, runID string, d dialect, modes modeSet) *builder {
	return &builder{
		s: s, thread: threadID, run: runID, dialect: d, modes: modes,
		streamed: map[string]bool{}, named: map[string]bool{},
	}
}

// event gives the frames of an event that the reader wants and has not seen.
// They are valid until the next call.
func (b *builder) event(ctx context.Context, ev *store.Event) ([]frame, error) {
	b.ev, b.n, b.out = ev, 0, b.out[:0]
	if ev.Run != b.run || b.ended != nil {
		return nil, nil
	}
	var err error
	switch ev.Type {
	case store.EventRunStart:
		err = b.runStart(ctx)
	case store.EventDelta:
		err = b.delta()
	case store.EventReset:
		err = b.reset()
	case store.EventMessage:
		err = b.message(ctx)
	case store.EventCheckpoint:
		err = b.checkpoint(ctx)
	case store.EventRunEnd:
		err = b.runEnd(ctx)
	default:
		err = b.addValue(modeCustom, frameCustom, ev.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("build the frames of event %d (%s) of thread %s: %w", ev.Seq, ev.Type, ev.Thread, err)
	}
	return b.out, nil
}

// add counts a frame and, if the reader wants it, keeps it.
func (b *builder) add(mode modeSet, event string, data []byte) {
	if b.next(mode) {
		b.out = append(b.out, frame{id: place{b.ev.Seq, b.n - 1}, event: event, data: data})
	}
}

// addValue is add for a value that is encoded only when it is wanted.
func (b *builder) addValue(mode modeSet, event string, value any) error {
	if !b.next(mode) {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a %s frame: %w", event, err)
	}
	b.out = append(b.out, frame{id: place{b.ev.Seq, b.n - 1}, event: event, data: data})
	return nil
}

// next takes the number of the next frame and reports whether the reader wants
// that frame.
func (b *builder) next(mode modeSet) bool {
	id := place{b.ev.Seq, b.n}
	b.n++
	return b.modes.has(mode) && b.from.before(id)
}

// wants reports whether a frame that came next would be kept.
func (b *builder) wants(mode modeSet) bool {
	return b.modes.has(mode) && b.from.before(place{b.ev.Seq, b.n})
}

// runStart opens the stream: metadata, then the state with the messages that
// the run was started with. Those stand in the log right behind the start,
// written in its transaction.
func (b *builder) runStart(ctx context.Context) error {
	if err := b.metadata(); err != nil {
		return err
	}
	var err error
	if b.inputEnd, err = b.findInput(ctx); err != nil {
		return err
	}
	return b.values(ctx, b.inputEnd)
}

func (b *builder) metadata() error {
	b.started = true
	return b.addValue(modeAlways, frameMetadata, b.metadataData())
}

func (b *builder) metadataData() map[string]any {
	data := map[string]any{"run_id": b.run, "thread_id": b.thread}
	if b.dialect == platform {
		data["attempt"] = 1
	}
	return data
}

// findInput is the last event of the messages that the run was started with.
func (b *builder) findInput(ctx context.Context) (int64, error) {
	const page = 16
	end := b.ev.Seq
	for {
		events, err := b.s.o.Store.Events(ctx, b.thread, end, page)
		if err != nil {
			return 0, err
		}
		for i := range events {
			if !b.isInput(&events[i]) {
				return end, nil
			}
			end = events[i].Seq
		}
		if len(events) < page {
			return end, nil
		}
	}
}

func (b *builder) isInput(ev *store.Event) bool {
	return ev.Type == store.EventMessage && ev.Run == b.run && ev.Step == b.ev.Step
}

// values adds the state as of an event.
func (b *builder) values(ctx context.Context, seq int64) error {
	if !b.wants(modeValues) {
		b.n++
		return nil
	}
	data, err := b.s.valuesAt(ctx, b.thread, b.run, seq)
	if err != nil {
		return err
	}
	b.add(modeValues, frameValues, data)
	return nil
}

// runEnd closes the stream: an error frame when the run broke off with an error
// that no message tells of, then end.
func (b *builder) runEnd(ctx context.Context) error {
	var end thread.End
	if err := json.Unmarshal(b.ev.Data, &end); err != nil {
		return err
	}
	if !b.started {
		if err := b.metadata(); err != nil { // it ended before it began
			return err
		}
	}
	b.ended = &end
	var err error
	if b.failed, err = b.isSilentFailure(ctx, &end); err != nil {
		return err
	}
	if b.failed {
		if err := b.addValue(modeAlways, frameError, errorData(end.Error)); err != nil {
			return err
		}
	}
	b.out = append(b.out, frame{event: frameEnd, data: []byte("null")})
	return nil
}

// rolledBack is the error of a run that was cancelled with rollback.
const rolledBack = "Rolled back by user"

// isSilentFailure reports whether a run failed and the user has not been told:
// a failed model call leaves a message in its place, a cancel is no failure.
func (b *builder) isSilentFailure(ctx context.Context, end *thread.End) (bool, error) {
	if end.Status != thread.RunError && end.Status != thread.RunTimeout {
		return false, nil
	}
	if end.StopReason == thread.StopCancelled || end.Error == rolledBack {
		return false, nil
	}
	view, err := b.s.o.Store.View(ctx, b.thread, store.ViewOptions{AtSeq: b.ev.Seq})
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for i := len(view.Rows) - 1; i >= 0; i-- {
		if row := &view.Rows[i]; row.RunID == b.run && isFallback(&row.Message) {
			return false, nil
		}
	}
	return true, nil
}

func errorData(text string) map[string]any {
	if text == "" {
		text = "The run failed"
	}
	return map[string]any{"error": "RunError", "name": "RunError", "message": text}
}
