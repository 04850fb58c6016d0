package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// The paths of the server.
const (
	pathChat   = "/v1/chat/completions"
	pathModels = "/v1/models"
)

// Model is a scriptable server of the OpenAI chat completions protocol on a
// free loopback port. It answers from scripts, records every request and, in
// its strict mode, which is on from the start, answers 400 to a request that
// breaks one of the [Rules] and fails the test. It is safe for concurrent use.
type Model struct {
	t       testing.TB
	server  *httptest.Server
	stop    chan struct{}
	journal *journal
	ids     []string // what /v1/models lists
	strict  *strict
	rest    *Script // for requests that no other script answers

	mu      sync.Mutex
	scripts []*Script
}

// ModelOption changes a new [Model].
type ModelOption func(*Model)

// WithModels sets the ids that GET /v1/models lists; without it there is one,
// "test-model".
func WithModels(ids ...string) ModelOption {
	return func(m *Model) { m.ids = ids }
}

// WithThinking turns rule V9 on. The server compares with the reasoning that
// it sent itself, and with what [Model.Gave] tells it.
func WithThinking() ModelOption {
	return func(m *Model) { m.strict.rules.Thinking = true }
}

// WithWindow turns rule V10 on for a context of that many tokens, as
// [EstimateTokens] counts them.
func WithWindow(tokens int) ModelOption {
	return func(m *Model) { m.strict.rules.Window = tokens }
}

// WithoutRules leaves some rules out of the strict mode, or turns it off when
// none is named.
func WithoutRules(rules ...Rule) ModelOption {
	return func(m *Model) {
		if len(rules) == 0 {
			m.strict.off = true
		}
		m.strict.rules.Off = append(m.strict.rules.Off, rules...)
	}
}

// NewModel starts a model server that is closed when the test ends; replies
// that still wait are cut then.
func NewModel(t testing.TB, options ...ModelOption) *Model {
	t.Helper()
	m := &Model{
		t:       t,
		stop:    make(chan struct{}),
		journal: newJournal(),
		ids:     []string{"test-model"},
		strict:  newStrict(),
		rest:    &Script{match: func(*Request) bool { return true }},
	}
	for _, option := range options {
		option(m)
	}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(func() {
		close(m.stop)
		m.server.CloseClientConnections()
		m.server.Close()
	})
	return m
}

// URL returns the base URL that a client is configured with, /v1 included.
func (m *Model) URL() string {
	return m.server.URL + "/v1"
}

// On returns a new script for the requests that match. Scripts are asked in
// the order they were made, those of Enqueue and Respond last; one that has
// nothing to say passes the request on.
func (m *Model) On(match Matcher) *Script {
	s := &Script{match: match}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts = append(m.scripts, s)
	return s
}

// Enqueue adds replies for requests that no script of [Model.On] answers, one
// reply a request.
func (m *Model) Enqueue(replies ...Reply) {
	m.rest.Enqueue(replies...)
}

// Respond sets the function for requests that nothing else answers. Without
// one such a request gets 400 and fails the test.
func (m *Model) Respond(respond func(*Request) Reply) {
	m.rest.Respond(respond)
}

// Remaining returns how many queued replies of all scripts are unused.
func (m *Model) Remaining() int {
	n := 0
	for _, s := range m.allScripts() {
		n += s.Remaining()
	}
	return n
}

// Requests returns the chat requests so far, in order of arrival.
func (m *Model) Requests() []*Request {
	found, _ := m.journal.snapshot(isChat)
	return found
}

// RequestsTo returns the requests so far, of every path, that match.
func (m *Model) RequestsTo(match Matcher) []*Request {
	found, _ := m.journal.snapshot(match)
	return found
}

// Await waits for the n-th chat request (1 is the first) and returns it.
func (m *Model) Await(ctx context.Context, n int) (*Request, error) {
	return m.AwaitMatch(ctx, n, isChat)
}

// AwaitMatch waits for the n-th request that matches and returns it.
func (m *Model) AwaitMatch(ctx context.Context, n int, match Matcher) (*Request, error) {
	for {
		found, grown := m.journal.snapshot(match)
		if len(found) >= n {
			return found[n-1], nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for model request %d, %d came so far: %w", n, len(found), ctx.Err())
		}
	}
}

func isChat(r *Request) bool {
	return r.Path == pathChat
}

func (m *Model) allScripts() []*Script {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(slices.Clone(m.scripts), m.rest)
}

// serve records one request and answers it.
func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away while it sent; there is nobody to answer
	}
	req := newRequest(r, body)
	if isChat(req) {
		req.Violations = m.strict.check(body)
	}
	m.journal.add(req)
	unwatch := context.AfterFunc(r.Context(), req.markClosed)
	x := &exchange{req: req, w: w, stop: m.stop, status: http.StatusOK}
	completed := false
	defer func() {
		if fault := recover(); fault != nil {
			m.t.Errorf("model: request %d: panic: %v\n%s", req.N, fault, debug.Stack())
			_ = x.hangUp(false) // so that the client cannot take it for an answer
		}
		unwatch()
		req.finish(completed)
	}()
	completed = m.answer(x)
}

// answer finds the reply to a request and carries it out; it reports whether
// that went to the end.
func (m *Model) answer(x *exchange) bool {
	reply := m.reply(x.req)
	steps, header := reply.render(x.req)
	x.header = header
	if reply.Status != 0 {
		x.status = reply.Status
	}
	err := x.run(steps)
	switch {
	case err == nil, errors.Is(err, errCut):
		return true
	case errors.Is(err, errClientGone), errors.Is(err, errServerClosed):
		return false
	default:
		m.t.Errorf("model: reply to request %d: %v", x.req.N, err)
		return false
	}
}

// reply chooses the answer to a request.
func (m *Model) reply(req *Request) Reply {
	switch {
	case req.Path == pathModels && req.Method == http.MethodGet:
		return m.list()
	case !isChat(req) || req.Method != http.MethodPost:
		return APIError(http.StatusNotFound, "unknown_url", fmt.Sprintf("Invalid URL (%s %s)", req.Method, req.Path))
	case len(req.Violations) > 0:
		return m.refuse(req)
	}
	for _, script := range m.allScripts() {
		if reply, ok := script.take(req); ok {
			m.strict.gave(req, reply)
			return reply
		}
	}
	m.t.Errorf("model: no reply is scripted for request %d (model %q, turn %d, last user message %.200q)",
		req.N, req.Model, req.Turn(), req.LastUser())
	return APIError(http.StatusBadRequest, "unscripted", "testkit: no reply is scripted for this request")
}

// list is the answer of GET /v1/models.
func (m *Model) list() Reply {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := make([]entry, 0, len(m.ids))
	for _, id := range m.ids {
		data = append(data, entry{id, "model", 0, "testkit"})
	}
	return Error(http.StatusOK, string(mustJSON(map[string]any{"object": "list", "data": data})))
}
