package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testTimeout = time.Minute

// scripted is a server whose answers the test writes, one handler a request.
type scripted struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	requests []*http.Request
}

func newScripted(t *testing.T, handlers ...http.HandlerFunc) *scripted {
	t.Helper()
	s := &scripted{handlers: handlers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		var next http.HandlerFunc
		if len(s.handlers) > 0 {
			next, s.handlers = s.handlers[0], s.handlers[1:]
		}
		s.mu.Unlock()
		if next == nil {
			http.Error(w, `{"detail":"the script is over"}`, http.StatusTeapot)
			return
		}
		next(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// answer answers with a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// sse answers with a stream, then does what end does.
func sse(end func(http.ResponseWriter, *http.Request), lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Location", "/threads/t/runs/r-1")
		w.WriteHeader(http.StatusOK)
		for _, line := range lines {
			_, _ = w.Write([]byte(line))
		}
		w.(http.Flusher).Flush() //nolint:forcetypeassert // httptest's writer is one
		if end != nil {
			end(w, r)
		}
	}
}

func frame(id, event, data string) string {
	return fmt.Sprintf("event: %s\ndata: %s\nid: %s\n\n", event, data, id)
}

const theEnd = "event: end\ndata: null\n\n"

// cutOff breaks the connection.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hang says nothing more until the client goes.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func newClient(t *testing.T, url string, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{Server: url}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	c.firstPause = time.Millisecond
	t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// deadAddress is an address where nobody listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return "http://" + l.Addr().String()
}
