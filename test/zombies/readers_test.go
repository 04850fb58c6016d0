package zombies

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// screen is what a reader of the messages channel shows: pieces are joined by
// id, a removal takes a message away.
type screen struct {
	order  []string
	text   map[string]string
	kind   map[string]string
	frames []testkit.Frame
}

func (s *screen) read(t *testing.T, f testkit.Frame) {
	t.Helper()
	s.frames = append(s.frames, f)
	if s.text == nil {
		s.text, s.kind = map[string]string{}, map[string]string{}
	}
	if f.Event != "messages" {
		return
	}
	var pair []struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Content any    `json:"content"`
	}
	require.NoError(t, f.Decode(&pair), "%s", f.Data)
	m := pair[0]
	if m.Type == "remove" {
		delete(s.text, m.ID)
		for i, id := range s.order {
			if id == m.ID {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
		return
	}
	if _, seen := s.text[m.ID]; !seen {
		s.order = append(s.order, m.ID)
	}
	text, _ := m.Content.(string)
	s.text[m.ID] += text
	s.kind[m.ID] = strings.ToLower(strings.TrimSuffix(m.Type, "MessageChunk"))
}

// of joins the texts of one kind of message, in order.
func (s *screen) of(kind string) []string {
	var out []string
	for _, id := range s.order {
		if s.kind[id] == kind {
			out = append(out, s.text[id])
		}
	}
	return out
}

// until reads until the text stands in an answer.
func (s *screen) until(ctx context.Context, t *testing.T, stream *testkit.SSE, text string) {
	t.Helper()
	_, err := stream.Until(ctx, func(f testkit.Frame) bool {
		s.read(t, f)
		return strings.Contains(strings.Join(s.of("ai"), "\n"), text)
	})
	require.NoError(t, err)
}

// toEnd reads to the end of the stream: one end, nothing behind it, no event
// twice.
func (s *screen) toEnd(ctx context.Context, t *testing.T, stream *testkit.SSE) {
	t.Helper()
	for {
		f, err := stream.Next(ctx)
		if err == io.EOF { //nolint:errorlint // a stream that ends in good order gives exactly this
			break
		}
		require.NoError(t, err)
		s.read(t, f)
	}
	seen := map[string]bool{}
	ends := 0
	for _, f := range s.frames {
		require.NotEqual(t, "error", f.Event, "%s", f.Data)
		require.NotEqual(t, "gap", f.Event, "%s", f.Data)
		if f.Event == "end" {
			ends++
			continue
		}
		if f.ID != "" {
			require.False(t, seen[f.ID], "event %s came twice", f.ID)
			seen[f.ID] = true
		}
	}
	require.Equal(t, 1, ends, "a run ends once")
	require.Equal(t, "end", s.frames[len(s.frames)-1].Event)
}

// ids are those of all events, in order.
func (s *screen) ids() []string {
	var out []string
	for _, f := range s.frames {
		if f.ID != "" && f.Event != "end" {
			out = append(out, f.ID)
		}
	}
	return out
}

// sameForAll checks readers who followed a run to its end in different ways
// against one who reads it all now: the same events, and the same on the screen.
func sameForAll(t *testing.T, api *testkit.API, threadID, runID string, ai []string, readers ...*screen) {
	t.Helper()
	ctx := patient(t)
	stream, err := api.JoinStream(ctx, threadID, runID, "-1")
	require.NoError(t, err)
	defer stream.Close()
	var all screen
	all.toEnd(ctx, t, stream)
	for _, r := range append(readers, &all) {
		require.Equal(t, ai, r.of("ai"))
		require.Equal(t, all.ids(), r.ids())
		require.Equal(t, all.of("tool"), r.of("tool"))
	}
	stored := messages(t, api, threadID)
	seen := map[string]bool{}
	for _, m := range stored {
		require.False(t, seen[m.ID], "message %s stands twice in the state", m.ID)
		seen[m.ID] = true
	}
}
