package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

func TestHeartbeatWhileQueued(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	p := e.play(t, "t")
	first := e.say(t, "t", "one")
	p.start(first)
	queued := e.say(t, "t", "two")
	s, err := e.df.JoinStream(e.ctx, "t", queued, "-1")
	require.NoError(t, err)
	require.NoError(t, s.AwaitComments(e.ctx, 3))
	p.model("1")
	p.success()
	require.NoError(t, s.AwaitComments(e.ctx, s.Comments()+2), "the first run's end is not ours")
	p.turn(queued, "2")
	frames := all(t, e, s)
	require.Equal(t, "metadata values messages messages updates values end", events(frames))
	for _, f := range frames {
		if f.Event == "messages" {
			require.NotContains(t, f.Data, first, "a message of the other run")
		}
	}
}

func TestRunThatEndedBeforeItBegan(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.start(e.say(t, "t", "one"))
	queued := e.say(t, "t", "two")
	s, err := e.df.JoinStream(e.ctx, "t", queued, "")
	require.NoError(t, err)
	p.commit(func(in *step.CommitInput) {
		in.Ends = []thread.End{{RunID: queued, Status: thread.RunInterrupted, StopReason: thread.StopCancelled}}
	})
	require.Equal(t, "metadata end", events(all(t, e, s)))
	s, err = e.df.JoinStream(e.ctx, "t", queued, "")
	require.NoError(t, err)
	require.Equal(t, "metadata end", events(all(t, e, s)), "and later")
}

func TestDeletedRunEndsItsStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	run := e.say(t, "t", "one")
	s, err := e.df.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	require.NoError(t, s.AwaitComments(e.ctx, 1))
	require.NoError(t, e.store.DeleteThread(e.ctx, "t"))
	frames := all(t, e, s)
	require.Equal(t, "metadata error end", events(frames))
	require.Contains(t, frames[1].Data, "deleted")
	_, err = e.df.JoinStream(e.ctx, "t", run, "")
	require.Equal(t, http.StatusNotFound, testkit.StatusOf(err))
}

// narrow makes the kernel hold little of what nobody reads.
func narrow(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(16 << 10)
		_ = tcp.SetWriteBuffer(16 << 10)
	}
}

// TestSlowReader: a client that reads too slowly is dropped, holds up nobody, and
// gets the rest when it comes back.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	impatient := New(Options{
		Store: e.store, Hub: e.hub, Threads: e.threads, Files: e.server.o.Files, Logger: quiet(), WriteTimeout: 30 * time.Millisecond,
	})
	dropped := make(chan struct{})
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(dropped)
		impatient.Handler().ServeHTTP(w, r)
	}))
	web.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		narrow(c)
		return ctx
	}
	web.Start()
	t.Cleanup(func() { impatient.Close(); web.Close() })
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			narrow(c)
		}
		return c, err
	}}}
	t.Cleanup(client.CloseIdleConnections)
	run := e.say(t, "t", strings.Repeat("long ", 20<<10)) // 100 KB in every state
	path := "/threads/t/runs/" + run + "/stream"
	req, err := http.NewRequestWithContext(e.ctx, http.MethodGet, web.URL+path, nil)
	require.NoError(t, err)
	slow, err := client.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, slow.Body.Close()) }()
	p := e.play(t, "t")
	p.start(run)
	for range 12 {
		p.model("x")
		p.commit() // never waits for the reader
	}
	p.success()
	select {
	case <-dropped:
	case <-e.ctx.Done():
		t.Fatal("a reader that takes nothing holds its stream")
	}
	got, err := io.ReadAll(slow.Body)
	require.Error(t, err)
	got = got[:strings.LastIndex(string(got), "\n\n")+2] // the last frame may be cut
	require.NotContains(t, string(got), "event: end")
	at := strings.LastIndex(string(got), "\nid: ") + len("\nid: ")
	rest := e.rawStream(t, path, strings.TrimSpace(string(got[at:])))
	whole := e.rawStream(t, path, "")
	require.Len(t, string(got)+rest, len(whole), "nothing lost, nothing doubled")
	require.True(t, strings.HasPrefix(whole, string(got)))
	require.True(t, strings.HasSuffix(whole, rest))
}
