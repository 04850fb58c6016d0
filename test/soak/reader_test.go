package soak

import (
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	. "deerflow/internal/testkit"
)

// screen is what the readers of a thread have seen: the messages, as a client
// builds them.
type screen struct {
	mu   sync.Mutex
	text map[string]string
	kind map[string]string
	seen map[string]bool // ids of events
}

// broken tells that a connection was cut.
func broken(err error) bool {
	var of *url.Error
	var at *net.OpError
	return errors.As(err, &of) || errors.As(err, &at) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// follow reads the events of a run to its end, each once: a connection that
// breaks is taken up behind the last event, by whichever server is there.
func (s *script) follow(run Run) error {
	last := ""
	for {
		var stream *SSE
		err := s.followed(func(api *API) (err error) {
			stream, err = api.JoinStream(s.ctx, s.id, run.RunID, last)
			return err
		})
		if err != nil {
			return err
		}
		over, err := s.read(stream, &last)
		stream.Close()
		if over || err != nil {
			return err
		}
	}
}

// followed is call, for the goroutine of a reader.
func (s *script) followed(do func(api *API) error) error {
	for n := 0; ; n++ {
		apis := s.p.apis()
		err := do(apis[n%len(apis)])
		if err == nil || !passing(s.ctx, err) {
			return err
		}
		s.rest(50 * time.Millisecond)
	}
}

// read takes frames until the run is over or the connection breaks.
func (s *script) read(stream *SSE, last *string) (over bool, err error) {
	for {
		frame, cut := stream.Next(s.ctx)
		if cut != nil {
			return false, s.ctx.Err() // without one, the connection broke
		}
		switch frame.Event {
		case "end":
			return true, nil
		case "gap", "error":
			return false, errors.New(frame.Event + ": " + frame.Data)
		}
		*last = stream.LastID()
		s.show(frame)
	}
}

// show puts a frame on the screen.
func (s *script) show(f Frame) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if s.shown.text == nil {
		s.shown.text, s.shown.kind, s.shown.seen = map[string]string{}, map[string]string{}, map[string]bool{}
	}
	if f.ID != "" && s.shown.seen[f.ID] {
		s.count(&s.twice, "%s: event %s came twice", s.name, f.ID)
	}
	s.shown.seen[f.ID] = true
	if f.Event != "messages" {
		return
	}
	var pair []struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Content any    `json:"content"`
	}
	if err := f.Decode(&pair); err != nil || len(pair) == 0 {
		s.t.Errorf("%s: event %s: %v", s.name, f.ID, err)
		return
	}
	m := pair[0]
	if m.Type == "remove" {
		delete(s.shown.text, m.ID)
		delete(s.shown.kind, m.ID)
		return
	}
	text, _ := m.Content.(string)
	s.shown.text[m.ID] += text
	s.shown.kind[m.ID] = strings.ToLower(strings.TrimSuffix(m.Type, "MessageChunk"))
}
