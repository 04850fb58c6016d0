package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// SSE is an open event stream of the API. It reads one frame ahead and no
// more, so a test that does not call Next is a slow reader to the server.
// One goroutine at a time may call Next and what is built on it.
type SSE struct {
	Header http.Header // of the response

	api    *API
	path   string // where a reconnection goes to
	cancel context.CancelFunc
	reader *FrameReader
	frames chan Frame
	kept   []Frame       // that came while a comment was waited for
	beat   chan struct{} // has an entry when a comment came since it was last emptied
	done   chan struct{} // closed when no frame is to come
	err    error         // why; set before done is closed

	mu     sync.Mutex
	lastID string
}

// openSSE starts to read an event stream that was answered with res; path is
// where it can be joined again.
func openSSE(api *API, res *http.Response, path string, cancel context.CancelFunc) *SSE {
	s := &SSE{
		Header: res.Header,
		api:    api,
		path:   path,
		cancel: cancel,
		reader: NewFrameReader(res.Body),
		frames: make(chan Frame),
		beat:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	s.reader.comment = func() {
		select {
		case s.beat <- struct{}{}:
		default:
		}
	}
	go s.read(res)
	return s
}

// read hands frames over until the stream ends or is closed.
func (s *SSE) read(res *http.Response) {
	defer close(s.done)
	defer func() { _ = res.Body.Close() }()
	for {
		frame, err := s.reader.Read()
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.frames <- frame:
		case <-res.Request.Context().Done():
			s.err = context.Canceled
			return
		}
	}
}

// Next returns the next frame. At the end of the stream it returns io.EOF, or
// what broke it (see [FrameReader.Read]); after [SSE.Close] an error that is
// context.Canceled. When ctx ends first, no frame is lost.
func (s *SSE) Next(ctx context.Context) (Frame, error) {
	if len(s.kept) > 0 {
		frame := s.kept[0]
		s.kept = s.kept[1:]
		return s.given(frame), nil
	}
	select {
	case frame := <-s.frames:
		return s.given(frame), nil
	case <-s.done:
		return Frame{}, s.err
	case <-ctx.Done():
		return Frame{}, fmt.Errorf("wait for the next frame after id %q: %w", s.LastID(), ctx.Err())
	}
}

// given notes the place of a frame that a test has seen.
func (s *SSE) given(frame Frame) Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID = frame.ID
	return frame
}

// Until reads up to and including the first frame that stop matches, and
// returns all frames read. A stream that ends before gives the frames with an
// error.
func (s *SSE) Until(ctx context.Context, stop func(Frame) bool) ([]Frame, error) {
	var frames []Frame
	for {
		frame, err := s.Next(ctx)
		if err != nil {
			return frames, fmt.Errorf("the wanted frame did not come in %d frames: %w", len(frames), err)
		}
		frames = append(frames, frame)
		if stop(frame) {
			return frames, nil
		}
	}
}

// All reads to the end of the stream. A stream that does not end in good order
// gives the frames with an error.
func (s *SSE) All(ctx context.Context) ([]Frame, error) {
	var frames []Frame
	for {
		frame, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
	}
}

// IsEvent matches frames of one event name, for [SSE.Until].
func IsEvent(name string) func(Frame) bool {
	return func(f Frame) bool { return f.Event == name }
}

// LastID returns the id of the last frame that Next returned.
func (s *SSE) LastID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

// Bytes returns how many bytes of the stream were read so far.
func (s *SSE) Bytes() int64 {
	return s.reader.bytes.Load()
}

// Comments returns how many comment lines, the heartbeats, were read so far.
func (s *SSE) Comments() int64 {
	return s.reader.comments.Load()
}

// AwaitComments waits until n comment lines were read in all. While a frame
// waits for Next, nothing behind it is read.
func (s *SSE) AwaitComments(ctx context.Context, n int64) error {
	for s.Comments() < n {
		select {
		case <-s.beat:
		case frame := <-s.frames: // comments stand behind it
			s.kept = append(s.kept, frame)
		case <-s.done:
			if s.Comments() < n {
				return fmt.Errorf("the stream ended after %d of %d comments: %w", s.Comments(), n, s.err)
			}
		case <-ctx.Done():
			return fmt.Errorf("wait for comment %d, %d came so far: %w", n, s.Comments(), ctx.Err())
		}
	}
	return nil
}

// RunID returns the run that the response names in Content-Location, "" for
// none.
func (s *SSE) RunID() string {
	_, rest, found := strings.Cut(s.Header.Get("Content-Location"), "/runs/")
	if !found {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// Close drops the connection and waits until the reader is gone. It may be
// called more than once.
func (s *SSE) Close() {
	s.cancel()
	<-s.done
}

// Reconnect drops the connection and returns a new one that goes on after the
// last frame that Next returned: a GET of the response's Location (or of the
// URL that was joined before) with Last-Event-ID.
func (s *SSE) Reconnect(ctx context.Context) (*SSE, error) {
	s.Close()
	if s.path == "" {
		return nil, errors.New("reconnect: the response had no Location to go to")
	}
	next, err := s.api.openStream(ctx, http.MethodGet, s.path, nil, s.LastID())
	if err != nil {
		return nil, fmt.Errorf("reconnect after id %q: %w", s.LastID(), err)
	}
	if next.LastID() == "" {
		next.lastID = s.LastID()
	}
	return next, nil
}
