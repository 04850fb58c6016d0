package crash

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// reader follows the stream of a run, over reconnections.
type reader struct {
	run    string
	stream *testkit.SSE
	broken chan struct{} // closed when the connection has ended

	mu     sync.Mutex
	frames []testkit.Frame
}

func follow(stream *testkit.SSE) *reader {
	r := &reader{run: stream.RunID()}
	r.read(stream)
	return r
}

func (r *reader) read(stream *testkit.SSE) {
	r.stream, r.broken = stream, make(chan struct{})
	broken := r.broken
	go func() {
		defer close(broken)
		for {
			f, err := stream.Next(context.Background())
			if err != nil {
				return
			}
			r.mu.Lock()
			r.frames = append(r.frames, f)
			r.mu.Unlock()
		}
	}()
}

func (r *reader) all() []testkit.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]testkit.Frame(nil), r.frames...)
}

func (r *reader) ended() bool {
	all := r.all()
	return len(all) > 0 && all[len(all)-1].Event == "end"
}

// reconnect goes on, at the new process, behind the last frame that came.
func (r *reader) reconnect(t *testing.T) {
	t.Helper()
	<-r.broken
	if r.ended() {
		return
	}
	again, err := r.stream.Reconnect(patient(t))
	require.NoError(t, err)
	r.read(again)
}

// awaitEnd reads to the end of the run.
func (r *reader) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case <-r.broken:
	case <-time.After(patience):
		require.Fail(t, "the stream did not end")
	}
	require.True(t, r.ended(), "the stream broke off")
}

// shows reports whether a text stands on the screen.
func (r *reader) shows(t *testing.T, text string) bool {
	t.Helper()
	for _, shown := range readAll(t, r.all()).text {
		if strings.Contains(shown, text) {
			return true
		}
	}
	return false
}

// screen is what a reader of the messages channel sees of the model's messages,
// by id.
type screen struct{ text map[string]string }

// readAll applies frames as a client does: pieces are joined by id, a removal
// takes a message away.
func readAll(t *testing.T, frames []testkit.Frame) screen {
	t.Helper()
	s := screen{text: map[string]string{}}
	for _, f := range frames {
		if f.Event != "messages" {
			continue
		}
		var pair []struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Content any    `json:"content"`
		}
		require.NoError(t, f.Decode(&pair), "%s", f.Data)
		m := pair[0]
		switch {
		case m.Type == "remove":
			delete(s.text, m.ID)
		case strings.EqualFold(strings.TrimSuffix(m.Type, "MessageChunk"), "ai"):
			text, _ := m.Content.(string)
			s.text[m.ID] += text
		}
	}
	return s
}

// ids are those of the frames, in order; the end has none of its own.
func ids(frames []testkit.Frame) []string {
	var list []string
	for _, f := range frames {
		if f.ID != "" && f.Event != "end" {
			list = append(list, f.ID)
		}
	}
	return list
}
