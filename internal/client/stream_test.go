package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

// collect reads a stream to its end.
func collect(ctx context.Context, s *Stream) (frames []string, err error) {
	for f, err := range s.Frames(ctx) {
		if err != nil {
			return frames, err
		}
		frames = append(frames, f.ID+" "+f.Event+" "+string(f.Data))
	}
	return frames, nil
}

func TestStreamReconnects(t *testing.T) {
	t.Parallel()
	s := newScripted(t,
		sse(cutOff, frame("1-0", "metadata", `{}`), ": heartbeat\n\n", frame("2-0", "values", `{"a":1}`), "event: messages\ndata: [\"hal"),
		answer(502, "bad gateway"),
		sse(nil, frame("2-0", "values", `{"a":1}`), frame("3-0", "messages", `["x"]`)), // a clean end without an end event
		sse(nil, "event: gap\ndata: {\"code\":\"g\"}\n\n", frame("3-1", "updates", `{}`), theEnd, frame("9-9", "after", "1")),
	)
	var lost []error
	c := newClient(t, s.URL, func(o *Options) { o.OnReconnect = func(err error, _ time.Duration) { lost = append(lost, err) } })
	stream, err := c.StreamRun(testContext(t), "t", RunRequest{Messages: []thread.Message{thread.Human("m", "hi")}})
	require.NoError(t, err)
	require.Equal(t, "r-1", stream.RunID)
	frames, err := collect(testContext(t), stream)
	require.NoError(t, err)
	require.Equal(t, []string{
		`1-0 metadata {}`, `2-0 values {"a":1}`, `3-0 messages ["x"]`, ` gap {"code":"g"}`, `3-1 updates {}`, ` end null`,
	}, frames)
	require.Equal(t, "3-1", stream.LastID())
	requests := s.seen()
	require.Len(t, requests, 4)
	require.Equal(t, "POST /api/threads/t/runs/stream", requests[0].Method+" "+requests[0].URL.Path)
	for i, id := range map[int]string{1: "2-0", 2: "2-0", 3: "3-0"} {
		require.Equal(t, "/api/threads/t/runs/r-1/stream", requests[i].URL.Path)
		require.Equal(t, id, requests[i].Header.Get("Last-Event-ID"))
		require.Equal(t, []string{"messages-tuple", "values", "updates", "custom"}, requests[i].URL.Query()["stream_mode"])
	}
	require.Len(t, lost, 3)
}

func TestStreamSurvivesARestart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	first := newScripted(t, sse(hang, frame("1-0", "metadata", `{}`)))
	address := first.Listener.Addr().String()
	second := &http.Server{Handler: sse(nil, frame("2-0", "values", `{}`), theEnd), ReadHeaderTimeout: time.Minute}
	reconnects := make(chan error, 100)
	c := newClient(t, first.URL, func(o *Options) { o.OnReconnect = func(err error, _ time.Duration) { reconnects <- err } })
	stream := c.JoinStream("t", "r", "", "values")
	var frames []string
	for f, err := range stream.Frames(ctx) {
		require.NoError(t, err)
		frames = append(frames, f.ID+" "+f.Event)
		if f.ID != "1-0" {
			continue
		}
		first.CloseClientConnections()
		first.Close()
		go func() {
			for range 2 { // only when it was missed
				<-reconnects
			}
			if ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
				_ = second.Serve(ln)
			}
		}()
	}
	require.Equal(t, []string{"1-0 metadata", "2-0 values", " end"}, frames)
	require.NoError(t, second.Close())
}

func TestStreamErrors(t *testing.T) {
	t.Parallel()
	s := newScripted(t,
		answer(409, `{"detail":"Thread t already has an active run","run_id":"r-0"}`),
		answer(404, `{"detail":"Run r not found"}`),
		answer(200, `{}`),
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		sse(nil, "event: values\ndata: {broken\n\n"), sse(nil, theEnd),
	)
	c, ctx := newClient(t, s.URL), testContext(t)
	_, err := c.StreamRun(ctx, "t", RunRequest{})
	require.ErrorIs(t, err, ErrConflict)
	_, err = collect(ctx, c.JoinStream("t", "r", ""))
	require.ErrorIs(t, err, ErrNotFound)
	_, err = c.StreamRun(ctx, "t", RunRequest{})
	require.ErrorContains(t, err, "no event stream")
	_, err = c.StreamRun(ctx, "t", RunRequest{})
	require.ErrorContains(t, err, "names no run")
	_, err = collect(ctx, c.JoinStream("t", "r", ""))
	require.NoError(t, err, "a frame that was garbled is asked for again")
	_, err = newClient(t, deadAddress(t)).StreamRun(ctx, "t", RunRequest{})
	require.ErrorIs(t, err, ErrUnreachable)
}

// TestStartIsRepeatedUnderItsKey: the answer was lost, the run may have begun.
func TestStartIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	s := newScripted(t, cutOff, sse(nil, frame("1-0", "metadata", `{}`), theEnd))
	stream, err := newClient(t, s.URL).StreamRun(testContext(t), "t", RunRequest{})
	require.NoError(t, err)
	stream.Close()
	requests := s.seen()
	require.Len(t, requests, 2)
	require.NotEmpty(t, requests[0].Header.Get("Idempotency-Key"))
	require.Equal(t, requests[0].Header.Get("Idempotency-Key"), requests[1].Header.Get("Idempotency-Key"))
}

func TestSilenceIsALostConnection(t *testing.T) {
	t.Parallel()
	s := newScripted(t, sse(hang, frame("1-0", "metadata", `{}`)), hang, sse(nil, frame("2-0", "values", `{}`), theEnd))
	c := newClient(t, s.URL, func(o *Options) { o.Silence = 30 * time.Millisecond })
	frames, err := collect(testContext(t), c.JoinStream("t", "r", ""))
	require.NoError(t, err)
	require.Equal(t, []string{"1-0 metadata {}", "2-0 values {}", " end null"}, frames)
}

func TestStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScripted(t, sse(hang, frame("1-0", "metadata", `{}`)))
	ctx, cancel := context.WithCancelCause(testContext(t))
	why := errors.New("enough")
	defer cancel(nil)
	var last error
	for _, err := range newClient(t, s.URL).JoinStream("t", "r", "").Frames(ctx) {
		last = err
		cancel(why)
	}
	require.ErrorIs(t, last, why)

	gone, stop := context.WithCancelCause(testContext(t))
	stop(why)
	_, err := collect(gone, newClient(t, deadAddress(t)).JoinStream("t", "r", ""))
	require.ErrorIs(t, err, why)
}

func TestStreamCanBeLeftAndResumed(t *testing.T) {
	t.Parallel()
	s := newScripted(t, sse(hang, frame("1-0", "metadata", `{}`), frame("1-1", "values", `{}`)), sse(nil, frame("1-1", "values", `{}`), theEnd))
	stream := newClient(t, s.URL).JoinStream("t", "r", "")
	for f, err := range stream.Frames(testContext(t)) {
		require.NoError(t, err)
		require.Equal(t, "1-0", f.ID)
		break
	}
	frames, err := collect(testContext(t), stream)
	require.NoError(t, err)
	require.Equal(t, []string{"1-1 values {}", " end null"}, frames)
}

// TestNoDoubles: whatever a server sends again, a reader sees each place once
// and in order.
func TestNoDoubles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(1, 12).Draw(rt, "frames")
		all := make([]string, count)
		for i := range all {
			all[i] = frame(string(rune('1'+i/3))+"-"+string(rune('0'+i%3)), "values", "1")
		}
		var script []http.HandlerFunc
		for at := 0; at < count; {
			from := rapid.IntRange(0, at).Draw(rt, "from")
			to := rapid.IntRange(at, count).Draw(rt, "to")
			script = append(script, sse(cutOff, all[from:to]...))
			at = to
			if len(script) > 6 {
				break
			}
		}
		script = append(script, sse(nil, append(append([]string{}, all...), theEnd)...))
		s := newScripted(t, script...)
		c := newClient(t, s.URL)
		frames, err := collect(testContext(t), c.JoinStream("t", "r", ""))
		require.NoError(t, err)
		require.Len(t, frames, count+1)
		for i := range all {
			require.Equal(t, all[i], frame(strings.Fields(frames[i])[0], "values", "1"))
		}
	})
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte(frame("1-0", "values", "{}") + theEnd))
	f.Add([]byte(": c\r\n\r\ndata: 1\rdata\n\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newFrameReader(strings.NewReader(string(data)))
		for {
			frame, err := r.next()
			if err != nil {
				return
			}
			require.NotContains(t, frame.ID, "\n")
		}
	})
}

func TestFrameReader(t *testing.T) {
	t.Parallel()
	r := newFrameReader(strings.NewReader("\n: ping\n\nid: 1\nevent: a\ndata: [1,\ndata: 2]\n\nevent:b\r\ndata:3\r\n\r\nevent: cut\ndata: 1\n"))
	f, err := r.next()
	require.NoError(t, err)
	require.Equal(t, Frame{ID: "1", Event: "a", Data: []byte("[1,\n2]")}, f)
	f, err = r.next()
	require.NoError(t, err)
	require.Equal(t, Frame{Event: "b", Data: []byte("3")}, f)
	_, err = r.next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = newFrameReader(strings.NewReader("")).next()
	require.ErrorIs(t, err, io.EOF)
	long := strings.Repeat("x", 300<<10)
	f, err = newFrameReader(strings.NewReader("event: v\ndata: \"" + long + "\"\n\n")).next()
	require.NoError(t, err)
	require.Len(t, f.Data, len(long)+2)
}
