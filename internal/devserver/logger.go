package devserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// levelTrace is below debug, where the server's information goes: a line per shard, queue, listener and quota when it
// starts, and several for each task that it moves.
const levelTrace = slog.LevelDebug - 4

// serverLog writes the server's log to slog. Nothing that is logged ends the process.
type serverLog struct {
	out   *slog.Logger
	tags  []tag.Tag
	state *logState
}

// logState is shared by a serverLog and all that With made of it.
type logState struct {
	phase atomic.Int32
	fatal atomic.Pointer[fatalError]
}

// Phases of a server's life, in order.
const (
	// building is while its parts are made, all in the goroutine of build.
	building int32 = iota
	// starting is while services find each other.
	starting
	running
	// stopping is while services stop one after the other.
	stopping
)

// fatalError is what the server wanted to end the process for.
type fatalError struct {
	msg string
	err error
}

func (e *fatalError) Error() string {
	if e.err == nil {
		return e.msg
	}
	return fmt.Sprintf("%s: %v", e.msg, e.err)
}

func (e *fatalError) Unwrap() error { return e.err }

var (
	_ log.Logger     = (*serverLog)(nil)
	_ log.WithLogger = (*serverLog)(nil)
)

func newServerLog(out *slog.Logger) *serverLog {
	return &serverLog{out: out.With("component", "temporal"), state: &logState{}}
}

// With keeps the tags as they are: the server calls it for each task, and hardly ever logs to the result.
func (l *serverLog) With(tags ...tag.Tag) log.Logger {
	all := make([]tag.Tag, 0, len(l.tags)+len(tags))
	all = append(append(all, l.tags...), tags...)
	return &serverLog{out: l.out, tags: all, state: l.state}
}

func (l *serverLog) Debug(msg string, tags ...tag.Tag) { l.log(levelTrace, msg, tags) }
func (l *serverLog) Info(msg string, tags ...tag.Tag)  { l.log(levelTrace, msg, tags) }

func (l *serverLog) Warn(msg string, tags ...tag.Tag) {
	level := slog.LevelWarn
	if isHarmless(msg, errorOf(tags)) || l.state.phase.Load() == stopping {
		level = slog.LevelDebug
	}
	l.log(level, msg, tags)
}

func (l *serverLog) Error(msg string, tags ...tag.Tag) {
	level := slog.LevelError
	err := errorOf(tags)
	if isHarmless(msg, err) || l.state.phase.Load() != running && isTransitional(err) {
		level = slog.LevelDebug
	}
	l.log(level, msg, tags)
}

func (l *serverLog) DPanic(msg string, tags ...tag.Tag) { l.log(slog.LevelError, msg, tags) }

// Panic and Fatal end what the server is doing instead of the process. They do not return, as their callers rely on
// it, and would go on with nil listeners or wrong task ids.
func (l *serverLog) Panic(msg string, tags ...tag.Tag) { l.abort(msg, tags) }
func (l *serverLog) Fatal(msg string, tags ...tag.Tag) { l.abort(msg, tags) }

func (l *serverLog) abort(msg string, tags []tag.Tag) {
	fatal := &fatalError{msg: msg, err: errorOf(tags)}
	l.state.fatal.CompareAndSwap(nil, fatal)
	if l.state.phase.Load() == building {
		// build recovers it and returns it. Goexit would not do: the listeners are made in a sync.OnceValue, which
		// panics of it.
		panic(fatal)
	}
	l.log(slog.LevelError, msg, tags)
	// In a goroutine of the server nobody recovers. The server takes this for a service that did not start.
	runtime.Goexit()
}

func (l *serverLog) log(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background()
	if !l.out.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, len(l.tags)+len(tags))
	for _, t := range l.tags {
		attrs = append(attrs, slog.Any(t.Key(), t.Value()))
	}
	for _, t := range tags {
		attrs = append(attrs, slog.Any(t.Key(), t.Value()))
	}
	l.out.LogAttrs(ctx, level, msg, attrs...)
}

// errorOf returns the error among the tags, so that its cause can be asked for.
func errorOf(tags []tag.Tag) error {
	for _, t := range tags {
		z, ok := t.(tag.ZapTag)
		if !ok {
			continue
		}
		if err, ok := z.Field().Interface.(error); ok && err != nil {
			return err
		}
	}
	return nil
}

// isHarmless tells what a healthy embedded server says again and again, and nobody can act on.
func isHarmless(msg string, err error) bool {
	return strings.HasPrefix(msg, "HTTP API port has not been set") ||
		// The Web UI asks for whole histories; the server cuts the page and says so each time.
		strings.HasPrefix(msg, "GetHistory page size is larger than threshold") ||
		// A call was given up by its caller in the moment of the answer.
		mentions(err, "SendHeader called multiple times")
}

// isTransitional tells errors of a server that starts or stops in good order: calls to a part that is not up yet or
// has stopped before, and calls that are cut off.
func isTransitional(err error) bool {
	return mentions(err, "Frontend is not healthy yet", "context canceled", "task queue closed", "shard closed")
}

// mentions looks at the text, since most of these errors have lost their type on the way through gRPC.
func mentions(err error, texts ...string) bool {
	return err != nil && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(err.Error(), s) })
}

// causeOf prefers what the server logged before it gave up over the error that it returned for it.
func (s *logState) causeOf(err error) error {
	if fatal := s.fatal.Load(); fatal != nil {
		return fatal
	}
	return err
}
