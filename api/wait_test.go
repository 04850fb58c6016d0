package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/testkit"
)

func TestWait(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	e.thread(t, "t")
	p := e.play(t, "t")
	submitted := make(chan string, 1)
	e.threads.submit = func(_ string, s step.SubmitRun) error { submitted <- s.RunID; return nil }
	type answer struct {
		*http.Response
		body string
		err  error
	}
	done, joined := make(chan answer, 1), make(chan answer, 1)
	go func() {
		res, body, err := e.fetch("POST", "/threads/t/runs/wait", hi(""), http.Header{})
		done <- answer{res, body, err}
	}()
	run := <-submitted
	go func() {
		res, body, err := e.fetch("GET", "/api/threads/t/runs/"+run+"/join", "", http.Header{})
		joined <- answer{res, body, err}
	}()
	p.start(run)
	waited, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	_, err = waited.Until(e.ctx, testkit.IsEvent("values"))
	require.NoError(t, err)
	require.NoError(t, waited.AwaitComments(e.ctx, 4)) // long enough for newlines
	waited.Close()
	p.model("hello")
	p.success()
	a, b := <-done, <-joined
	require.NoError(t, errors.Join(a.err, b.err))
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(a.body, "\n"), "newlines keep the connection alive")
	values := testkit.Values{}
	require.NoError(t, json.Unmarshal([]byte(a.body), &values))
	messages, err := values.Messages()
	require.NoError(t, err)
	require.Equal(t, "hello", messages[1].Text())
	require.JSONEq(t, a.body, b.body)

	status, header, body := e.do(t, "GET", "/threads/t/runs/"+run+"/join", "", map[string]string{"Accept": "text/event-stream"})
	require.Equal(t, 200, status)
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	require.Contains(t, body, "event: end")
}

func TestWaitEndsWithTheServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	result := make(chan error, 1)
	go func() {
		_, err := e.root.JoinRun(e.ctx, "t", run)
		result <- err
	}()
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	e.server.Close()
	require.Empty(t, all(t, e, s))
	require.Equal(t, http.StatusServiceUnavailable, testkit.StatusOf(<-result))
}
