package testkit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// eventServer streams frames 1 to last of run r1, from Last-Event-ID on. It
// holds after frame hold until the test lets it go on, and then ends as told.
type eventServer struct {
	last, hold int
	held       chan struct{} // has an entry for each response that holds
	proceed    chan struct{} // each entry lets one response go on
	cut        bool          // break the connection at hold
	location   bool          // send Location
	lastIDs    chan string   // the Last-Event-ID of each request
}

func newEventServer(last, hold int) *eventServer {
	return &eventServer{
		last: last, hold: hold, location: true,
		held: make(chan struct{}, 10), proceed: make(chan struct{}, 10), lastIDs: make(chan string, 10),
	}
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	s.lastIDs <- r.Header.Get("Last-Event-ID")
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Content-Location", "/api/threads/t1/runs/r1")
	if s.location {
		w.Header().Set("Location", "/threads/t1/runs/r1/stream")
	}
	_, _ = io.WriteString(w, ": hb\n\n")
	for i := max(from, 0) + 1; i <= s.last; i++ {
		_, _ = fmt.Fprintf(w, "event: step\ndata: %d\nid: %d\n\n", i, i)
		_ = http.NewResponseController(w).Flush()
		if i != s.hold {
			continue
		}
		s.held <- struct{}{}
		select {
		case <-s.proceed:
		case <-r.Context().Done():
			return
		}
		if s.cut {
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = io.WriteString(w, "event: end\ndata: null\n\n")
}

// serve starts a server with the routes of a run and returns a client of it.
func serve(t *testing.T, s *eventServer) *API {
	t.Helper()
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/api"} {
		mux.Handle("POST "+prefix+"/threads/t1/runs/stream", s)
		mux.Handle("GET "+prefix+"/threads/t1/runs/r1/stream", s)
	}
	server := httptest.NewServer(mux)
	api := NewAPI(server.URL)
	t.Cleanup(func() {
		api.Close()
		server.Close()
	})
	return api
}

func data(frames []Frame) []string {
	var list []string
	for _, f := range frames {
		list = append(list, f.Data)
	}
	return list
}

func TestSSEReadsToTheEnd(t *testing.T) {
	t.Parallel()
	api := serve(t, newEventServer(3, 0))
	s, err := api.StreamRun(testContext(t), "t1", Say("hi"))
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "r1", s.RunID())
	first, err := s.Next(testContext(t))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), first.At, time.Minute)
	require.Equal(t, []string{"1", "step"}, []string{first.ID, first.Event})
	some, err := s.Until(testContext(t), func(f Frame) bool { return f.Data == "2" })
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, data(some))
	require.Equal(t, "2", s.LastID())
	rest, err := s.All(testContext(t))
	require.NoError(t, err)
	require.Equal(t, []string{"3", "null"}, data(rest))
	require.Equal(t, "end", rest[1].Event)
	require.Equal(t, "3", s.LastID(), "a frame without id keeps the last one")
	require.NoError(t, s.AwaitComments(testContext(t), 1))
	require.EqualValues(t, len(": hb\n\n")+3*len("event: step\ndata: 1\nid: 1\n\n")+len("event: end\ndata: null\n\n"), s.Bytes())

	_, err = s.Next(testContext(t))
	require.ErrorIs(t, err, io.EOF)
	_, err = s.Until(testContext(t), IsEvent("end"))
	require.ErrorIs(t, err, io.EOF)
	require.ErrorContains(t, s.AwaitComments(testContext(t), 2), "ended after 1 of 2")
}

func TestSSENextLosesNothingWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	server := newEventServer(2, 1)
	api := serve(t, server)
	s, err := api.StreamRun(testContext(t), "t1", Say("hi"))
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Next(testContext(t))
	require.NoError(t, err)
	await(t, server.held, "the hold")
	_, err = s.Next(canceled())
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, `after id "1"`)
	require.ErrorIs(t, s.AwaitComments(canceled(), 2), context.Canceled)
	server.proceed <- struct{}{}
	rest, err := s.All(testContext(t))
	require.NoError(t, err)
	require.Equal(t, []string{"2", "null"}, data(rest))
}

func TestSSECutConnectionIsNoEnd(t *testing.T) {
	t.Parallel()
	server := newEventServer(3, 2)
	server.cut = true
	api := serve(t, server)
	s, err := api.StreamRun(testContext(t), "t1", Say("hi"))
	require.NoError(t, err)
	defer s.Close()
	server.proceed <- struct{}{}
	got, err := s.All(testContext(t))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, []string{"1", "2"}, data(got))
}

func TestSSEReconnectGoesOnAfterTheLastFrame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prefix   string
		location bool
	}{
		"Location, root dialect":         {"", true},
		"Location, DeerFlow dialect":     {"/api", true},
		"Content-Location with a prefix": {"/api", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newEventServer(4, 2)
			server.location = c.location
			api := serve(t, server).WithPrefix(c.prefix)
			s, err := api.StreamRun(testContext(t), "t1", Say("hi"))
			require.NoError(t, err)
			require.Empty(t, <-server.lastIDs)
			_, err = s.Until(testContext(t), func(f Frame) bool { return f.ID == "2" })
			require.NoError(t, err)

			s, err = s.Reconnect(testContext(t))
			require.NoError(t, err)
			require.Equal(t, "2", <-server.lastIDs)
			require.Equal(t, "2", s.LastID())
			s, err = s.Reconnect(testContext(t))
			require.NoError(t, err, "before any frame")
			require.Equal(t, "2", <-server.lastIDs)
			rest, err := s.All(testContext(t))
			require.NoError(t, err)
			require.Equal(t, []string{"3", "4", "null"}, data(rest))
			s.Close()
		})
	}
}

func TestJoinStreamSendsTheID(t *testing.T) {
	t.Parallel()
	server := newEventServer(3, 0)
	api := serve(t, server)
	s, err := api.JoinStream(testContext(t), "t1", "r1", "-1")
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "-1", <-server.lastIDs)
	all, err := s.All(testContext(t))
	require.NoError(t, err)
	require.Len(t, all, 4)
}

func TestSSECloseLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := newEventServer(3, 2)
	httpServer := httptest.NewServer(server)
	api := NewAPI(httpServer.URL)
	unread, err := api.StreamRun(testContext(t), "t1", Say("hi"))
	require.NoError(t, err)
	closed, err := api.StreamRun(testContext(t), "t1", Say("hi"))
	require.NoError(t, err)
	closed.Close()
	closed.Close()
	_, err = closed.Next(testContext(t))
	require.Error(t, err)
	_, err = closed.Reconnect(canceled())
	require.Error(t, err)
	api.Close()
	await(t, unread.done, "the end of the reader")
	httpServer.Close()
	goleak.VerifyNone(t, before)
}

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/threads/busy/runs/stream":
			http.Error(w, `{"detail":"busy"}`, http.StatusConflict)
		case "/threads/slow/runs/stream":
			<-never
		case "/threads/nowhere/runs/stream":
			w.Header().Set("Content-Type", "text/event-stream")
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(func() {
		close(never)
		server.Close()
	})
	api := NewAPI(server.URL)
	t.Cleanup(api.Close)

	_, err := api.StreamRun(testContext(t), "busy", Say("hi"))
	require.Equal(t, http.StatusConflict, StatusOf(err))
	_, err = api.StreamRun(testContext(t), "json", Say("hi"))
	require.ErrorContains(t, err, "no event stream")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = api.StreamRun(ctx, "slow", Say("hi"))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	s, err := api.StreamRun(testContext(t), "nowhere", Say("hi"))
	require.NoError(t, err)
	require.Empty(t, s.RunID())
	_, err = s.Reconnect(testContext(t))
	require.ErrorContains(t, err, "no Location")
}

// A comment that stands behind frames is seen, and the frames are not lost.
func TestAwaitCommentsBehindFrames(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
	require.NoError(t, err)
	s := openSSE(nil, &http.Response{Body: pr, Request: req}, "", cancel)
	go func() {
		_, _ = io.WriteString(pw, "event: a\nid: 1\ndata: {}\n\nevent: b\nid: 2\ndata: {}\n\n: waiting\n\nevent: c\nid: 3\ndata: {}\n\n")
		_ = pw.Close()
	}()
	require.NoError(t, s.AwaitComments(ctx, 1))
	frames, err := s.Until(ctx, IsEvent("c"))
	require.NoError(t, err)
	require.Len(t, frames, 3)
	require.Equal(t, "3", s.LastID())
}
