package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire answers requests without a network and keeps their bodies.
type wire struct {
	mu      sync.Mutex
	bodies  [][]byte
	headers []http.Header
	answers []func(*http.Request) (*http.Response, error)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.bodies)
	w.bodies, w.headers = append(w.bodies, body), append(w.headers, r.Header)
	return w.answers[min(n, len(w.answers)-1)](r)
}

// reply is an answer with a status, a body and headers written "Name: value".
func reply(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return replyReader(status, func() io.Reader { return strings.NewReader(body) }, header...)
}

func replyReader(status int, body func() io.Reader, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{
			StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
			Header: h, Body: io.NopCloser(body()), Request: r,
		}, nil
	}
}

func testConfig() Config {
	return Config{Name: "big", Model: "provider-big", BaseURL: "http://provider.test/v1"}
}

// clientFor makes a client on a wire with these answers, the last one for ever.
func clientFor(t *testing.T, cfg Config, answers ...func(*http.Request) (*http.Response, error)) (*Client, *wire) {
	t.Helper()
	w := &wire{answers: answers}
	c, err := New(cfg, Options{APIKey: "sk-test-secret-key-123456", Transport: w, Scope: "run1-7"})
	require.NoError(t, err)
	return c, w
}

// heard is what a caller got from a call.
type heard struct {
	resp   *Response
	err    error
	deltas []Delta
}

func (h *heard) text() string {
	var b strings.Builder
	for _, d := range h.deltas {
		b.WriteString(d.Text)
	}
	return b.String()
}

func (h *heard) reasoning() string {
	var b strings.Builder
	for _, d := range h.deltas {
		b.WriteString(d.Reasoning)
	}
	return b.String()
}

// calls joins the pieces of the streamed calls.
func (h *heard) calls() []ToolCallDelta {
	var out []ToolCallDelta
	for _, d := range h.deltas {
		for _, c := range d.ToolCalls {
			for len(out) <= c.Index {
				out = append(out, ToolCallDelta{Index: len(out)})
			}
			out[c.Index].ID += c.ID
			out[c.Index].Name += c.Name
			out[c.Index].Args += c.Args
		}
	}
	return out
}

func hear(c Chatter, req Request) *heard {
	h := &heard{}
	h.resp, h.err = c.Chat(context.Background(), req, func(d Delta) error {
		h.deltas = append(h.deltas, d)
		return nil
	})
	return h
}

func question(text string) Request {
	return Request{System: "You help.", Messages: []thread.Message{thread.Human("h1", text)}, Tools: testTools()}
}

// streamed is what a client hears from one streamed answer.
func streamed(t *testing.T, raw string) *heard {
	t.Helper()
	c, _ := clientFor(t, testConfig(), reply(200, raw))
	return hear(c, question("hello"))
}

func failure(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	return e
}

// data is an event with this data.
func data(text string) string { return "data: " + text + "\n\n" }

// piece is a chunk with this delta object.
func piece(delta string) string { return data(`{"choices":[{"index":0,"delta":` + delta + `}]}`) }

func said(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return piece(`{"content":` + string(quoted) + `}`)
}

func ended(reason string) string {
	return data(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

const done = "data: [DONE]\n\n"

func testTools() []agent.ToolSpec {
	spec := func(name string, properties ...string) agent.ToolSpec {
		schema := map[string]any{}
		for _, p := range properties {
			schema[p] = map[string]any{"type": "string"}
		}
		raw, err := json.Marshal(map[string]any{"type": "object", "properties": schema})
		if err != nil {
			panic(err)
		}
		return agent.ToolSpec{Name: name, Description: "Does " + name + ".", Parameters: raw}
	}
	return []agent.ToolSpec{
		spec("ask_clarification", "question", "clarification_type", "context", "options"),
		spec("ls", "description", "path"),
		spec("read_file", "description", "path", "start_line", "end_line"),
		spec("grep", "description", "pattern", "path"),
		spec("write_file", "description", "path", "content", "append"),
		spec("present_files", "filepaths"),
		spec("search", "q"),
	}
}

// server is a real server for the cases that are about connections.
func server(t *testing.T, cfg func(*Config), handle http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	c := testConfig()
	c.BaseURL = s.URL
	if cfg != nil {
		cfg(&c)
	}
	client, err := New(c, Options{Transport: transport})
	require.NoError(t, err)
	return client
}

func flush(t *testing.T, w http.ResponseWriter, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		return // the client has gone, which some cases want
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Logf("flush: %v", err)
	}
}

const patience = 10 * time.Second // for what must happen, however slow the machine
