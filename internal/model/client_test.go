package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	c, w := clientFor(t, testConfig(), func(r *http.Request) (*http.Response, error) {
		require.Equal(t, "http://provider.test/v1/chat/completions", r.URL.String())
		require.Equal(t, http.MethodPost, r.Method)
		return reply(200, data(`{"model":"provider-big-2","choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`))(r)
	})
	h := hear(c, question("x"))
	require.NoError(t, h.err)
	require.Equal(t, "Bearer sk-test-secret-key-123456", w.headers[0].Get("Authorization"))
	require.Equal(t, "text/event-stream", w.headers[0].Get("Accept"))
	require.Equal(t, map[string]any{
		"finish_reason": "stop", "model_name": "provider-big-2", "model_provider": "openai", "configured_model": "big",
	}, h.resp.Message.ResponseMetadata)
}

func TestNotStreaming(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Flags.Streaming = ptr(false)
	c, w := clientFor(t, cfg, reply(200, `{"choices":[{"message":{"content":"<think>p</think>ok","tool_calls":[`+writeCall+`]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	h := hear(c, question("x"))
	require.NoError(t, h.err)
	require.Equal(t, "ok", h.text())
	require.Equal(t, "p", h.reasoning())
	require.Equal(t, 3, h.resp.Usage.TotalTokens)
	require.Equal(t, []ToolCallDelta{{ID: "w", Name: "write_file", Args: `{"path":"report.md","content":"short"}`}}, h.calls())
	require.Contains(t, string(w.bodies[0]), `"stream":false`)
	require.NotContains(t, string(w.bodies[0]), "stream_options")
	// A server that streams all the same is understood.
	c, _ = clientFor(t, cfg, reply(200, said("ok")+ended("stop")))
	require.Equal(t, "ok", hear(c, question("x")).text())
}

func TestEmitErrorEndsTheCall(t *testing.T) {
	t.Parallel()
	fenced := errors.New("fenced")
	c, _ := clientFor(t, testConfig(), reply(200, said("a")+said("b")+ended("stop")))
	_, err := c.Chat(context.Background(), question("x"), func(Delta) error { return fenced })
	require.ErrorIs(t, err, fenced)
	var e *Error
	require.NotErrorAs(t, err, &e, "the provider is not to blame")
	r, err := c.Chat(context.Background(), question("x"), nil)
	require.NoError(t, err)
	require.Equal(t, "ab", r.Message.Content.String())
}

// The connection ends when the context does: in the middle of an answer, before
// it, and whatever the cause.
func TestB12Cancel(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped by the user")
	for name, first := range map[string]string{"in the middle": said("a"), "before the first byte": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, gone := make(chan struct{}), make(chan struct{})
			c := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				if err != nil {
					t.Errorf("read the request: %v", err)
				}
				if first != "" {
					flush(t, w, first)
				}
				close(arrived)
				<-r.Context().Done()
				close(gone)
			})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			go func() {
				<-arrived
				cancel(stop)
			}()
			_, err := c.Chat(ctx, question("x"), nil)
			require.ErrorIs(t, err, stop)
			require.ErrorIs(t, err, context.Canceled)
			var e *Error
			require.NotErrorAs(t, err, &e)
			select {
			case <-gone:
			case <-time.After(patience):
				t.Fatal("the connection is still open")
			}
		})
	}
	t.Run("before the call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := server(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("nothing may be sent") })
		_, err := c.Chat(ctx, question("x"), nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("while the pieces are handed on", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c, _ := clientFor(t, testConfig(), reply(200, said("a")+toolCallsPiece(writeCall)+ended("tool_calls")))
		_, err := c.Chat(ctx, question("x"), func(Delta) error { cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled, "a call that comes late is not an answer")
	})
}

func TestA25IdleTimeout(t *testing.T) {
	t.Parallel()
	const limit = 60 * time.Millisecond
	short := func(c *Config) { c.ChunkTimeout = limit }
	hang := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				return
			}
			if first != "" {
				flush(t, w, first)
			}
			<-r.Context().Done()
		}
	}
	for name, first := range map[string]string{"from the start": "", "in the middle": said("a"), "inside a line": "data: {"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := server(t, short, hang(first)).Chat(context.Background(), question("x"), nil)
			e := failure(t, err)
			require.Equal(t, ClassIdleTimeout, e.Class)
			require.True(t, e.Retryable)
			require.Equal(t, 2, e.MaxAttempts, "once more, not three times the same giant answer")
		})
	}
	t.Run("a complete answer is not lost", func(t *testing.T) {
		t.Parallel()
		patient := func(c *Config) { c.ChunkTimeout = 15 * limit }
		r, err := server(t, patient, hang(said("a")+ended("stop"))).Chat(context.Background(), question("x"), nil)
		require.NoError(t, err)
		require.Equal(t, "a", r.Message.Content.String())
	})
	t.Run("the end mark needs no end of the connection", func(t *testing.T) {
		t.Parallel()
		r, err := server(t, nil, hang(said("a")+done)).Chat(context.Background(), question("x"), nil)
		require.NoError(t, err)
		require.Equal(t, "a", r.Message.Content.String())
	})
	t.Run("the whole call has a limit too", func(t *testing.T) {
		t.Parallel()
		c := server(t, func(c *Config) { c.Timeout = limit }, hang(said("a")))
		_, err := c.Chat(context.Background(), question("x"), nil)
		e := failure(t, err)
		require.Equal(t, ClassTransient, e.Class)
		require.Contains(t, e.Message, "too long")
		require.Equal(t, 2, e.MaxAttempts)
	})
}

// Any byte ends a silence (A04, A25): the answer takes several limits.
func TestA25BytesResetTheIdleTimer(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // a busy machine may hold up a byte
	c := server(t, func(c *Config) { c.ChunkTimeout = limit }, func(w http.ResponseWriter, r *http.Request) {
		for _, b := range []string{":", " ping\n", "\n", "d", "ata: {\"choices\":[{\"delta\":{\"con", "tent\":\"slow\"}}]}", "\n\n"} {
			select {
			case <-time.After(limit / 4):
			case <-r.Context().Done():
				return
			}
			flush(t, w, b)
		}
		flush(t, w, ended("stop")+done)
	})
	r, err := c.Chat(context.Background(), question("x"), nil)
	require.NoError(t, err)
	require.Equal(t, "slow", r.Message.Content.String())
}

// A slow reader of the pieces is not a silent provider.
func TestSlowEmitIsNotIdle(t *testing.T) {
	t.Parallel()
	const limit = 600 * time.Millisecond
	c := server(t, func(c *Config) { c.ChunkTimeout = limit }, func(w http.ResponseWriter, _ *http.Request) {
		flush(t, w, said("a"))
		flush(t, w, said("b")+ended("stop")+done)
	})
	r, err := c.Chat(context.Background(), question("x"), func(Delta) error { time.Sleep(limit + limit/4); return nil })
	require.NoError(t, err)
	require.Equal(t, "ab", r.Message.Content.String())
}

func TestA01SocketClosed(t *testing.T) {
	t.Parallel()
	c := server(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		flush(t, w, said("Partial ans"))
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("take the connection: %v", err)
			return
		}
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	_, err := c.Chat(context.Background(), question("x"), nil)
	e := failure(t, err)
	require.Equal(t, ClassCutStream, e.Class)
	require.True(t, e.Retryable)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	c := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("the conversation was sent elsewhere")
		}
		http.Redirect(w, r, "/elsewhere?token=secret", http.StatusTemporaryRedirect)
	})
	_, err := c.Chat(context.Background(), question("x"), nil)
	e := failure(t, err)
	require.Contains(t, e.Message, "/elsewhere")
	require.NotContains(t, e.Message, "secret")
	require.False(t, e.Retryable)
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.BaseURL = "http://127.0.0.1:1"
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(cfg, Options{Transport: transport})
	require.NoError(t, err)
	e := failure(t, hear(c, question("x")).err)
	require.Equal(t, ClassTransient, e.Class)
	require.True(t, e.Retryable)
	require.Contains(t, e.Error(), "no connection")
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	c := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		flush(t, w, said(strings.Repeat("x", 5000))+ended("stop")+done)
	})
	for range 5 {
		_, err := c.Chat(context.Background(), question("x"), nil)
		require.NoError(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, from, 1)
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	c, _ := clientFor(t, testConfig(), reply(400, `{"error":{"message":"stream_options"}}`), reply(200, said("ok")+ended("stop")))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			h := hear(c, question("x"))
			if h.err != nil || h.text() != "ok" {
				t.Errorf("got %q, %v", h.text(), h.err)
			}
		})
	}
	wg.Wait()
}
