package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Stream is the events of a run.
type Stream struct {
	ThreadID string
	RunID    string

	c      *Client
	modes  []string
	lastID string
	first  *connection // that the stream was opened with; nil later
}

// connection is one answer with events.
type connection struct {
	res    *http.Response
	watch  *silence
	frames *frameReader
}

func (c *connection) close() {
	c.watch.stop()
	_ = c.res.Body.Close()
}

// StreamRun starts a run and opens its stream. A thread that works on another
// run is an [ErrConflict], unless the request says what to do then. Read
// [Stream.Frames], or call [Stream.Close].
func (c *Client) StreamRun(ctx context.Context, threadID string, r RunRequest) (*Stream, error) {
	s := &Stream{ThreadID: threadID, c: c, modes: r.modes()}
	post := runPost(threadID, "/stream", &r)
	b := c.backoff()
	for {
		conn, err := s.connect(ctx, post)
		if err == nil {
			if s.RunID = runOf(conn.res.Header); s.RunID == "" {
				conn.close()
				return nil, fmt.Errorf("%s %s: the answer names no run", post.method, post.path)
			}
			s.first = conn
			return s, nil
		}
		// An answer that was lost may have started the run: with the same key
		// the next attempt finds it.
		if !errors.Is(err, ErrUnreachable) || isDial(err) || ctx.Err() != nil {
			return nil, err
		}
		if err := c.pause(ctx, &b, err); err != nil {
			return nil, err
		}
	}
}

// JoinStream opens the stream of a run after the frame with the given id; "" is
// the start. Modes are those of [RunRequest]. Whether the run exists shows when
// the frames are read.
func (c *Client) JoinStream(threadID, runID, lastEventID string, modes ...string) *Stream {
	return &Stream{ThreadID: threadID, RunID: runID, c: c, modes: modes, lastID: lastEventID}
}

// LastID is the place of the last frame that was read: with it, JoinStream goes
// on where this stream stopped.
func (s *Stream) LastID() string { return s.lastID }

// Close drops the connection that the stream was opened with, if its frames are
// not read.
func (s *Stream) Close() {
	if s.first != nil {
		s.first.close()
		s.first = nil
	}
}

// Frames gives the events until and with "end". Lost connections are made again,
// as long as ctx lasts, and the stream goes on where it was. After an error
// nothing follows. It can be read once at a time; a second reading goes on after
// the first.
func (s *Stream) Frames(ctx context.Context) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		b := s.c.backoff()
		for {
			done, err := s.read(ctx, &b, yield)
			if done {
				return
			}
			if ctx.Err() != nil {
				yield(Frame{}, fmt.Errorf("stream of run %s: %w", s.RunID, context.Cause(ctx)))
				return
			}
			if mayPass(err) {
				err = s.c.pause(ctx, &b, err)
			}
			if err != nil {
				yield(Frame{}, fmt.Errorf("stream of run %s: %w", s.RunID, err))
				return
			}
		}
	}
}

// read hands on the frames of one connection. It is done after the end, or when
// nobody wants more.
func (s *Stream) read(ctx context.Context, b *backoff, yield func(Frame, error) bool) (done bool, err error) {
	conn := s.first
	s.first = nil
	if conn == nil {
		if conn, err = s.connect(ctx, s.join()); err != nil {
			return false, err
		}
	}
	defer conn.close()
	stop := context.AfterFunc(ctx, conn.watch.stop) // the first connection has another context
	defer stop()
	for {
		frame, err := conn.frames.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, fmt.Errorf("%w: the stream broke off", ErrUnreachable)
		}
		if err != nil {
			return false, conn.watch.explain(fmt.Errorf("%w: %w", ErrUnreachable, err))
		}
		if !newer(frame.ID, s.lastID) {
			continue
		}
		b.reset()
		if frame.ID != "" {
			s.lastID = frame.ID
		}
		if !yield(frame, nil) || frame.Event == "end" {
			return true, nil
		}
	}
}

func (s *Stream) join() request {
	r := request{method: http.MethodGet, path: runPath(s.ThreadID, s.RunID) + "/stream", header: map[string]string{}}
	if len(s.modes) > 0 {
		r.query = url.Values{"stream_mode": s.modes}
	}
	if s.lastID != "" {
		r.header["Last-Event-ID"] = s.lastID
	}
	return r
}

// connect opens one connection, which lives on when it was opened.
func (s *Stream) connect(ctx context.Context, r request) (*connection, error) {
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header["Accept"] = "text/event-stream"
	ctx, watch := watchSilence(ctx, s.c.o.Silence)
	res, err := s.c.open(ctx, r)
	if err != nil {
		err = watch.explain(err)
		watch.stop()
		return nil, err
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		watch.stop()
		return nil, errors.Join(fmt.Errorf("%s %s: the answer is %q and no event stream", r.method, r.path, kind), res.Body.Close())
	}
	return &connection{res: res, watch: watch, frames: newFrameReader(watch.reader(res.Body))}, nil
}

// runOf is the run that an answer names.
func runOf(h http.Header) string {
	_, id, _ := strings.Cut(h.Get("Content-Location"), "/runs/")
	return id
}

// newer reports whether a frame comes after the last one that was handed on.
// Frames without a place always do.
func newer(id, last string) bool {
	if id == "" || last == "" {
		return true
	}
	seq, n, ok := splitID(id)
	lastSeq, lastN, lastOK := splitID(last)
	if !ok || !lastOK {
		return id != last
	}
	return seq > lastSeq || seq == lastSeq && n > lastN
}

func splitID(id string) (seq, n int64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	seq, errA := strconv.ParseInt(a, 10, 64)
	n, errB := strconv.ParseInt(b, 10, 64)
	return seq, n, errA == nil && errB == nil
}
