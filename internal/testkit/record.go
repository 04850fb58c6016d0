package testkit

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Request is one request that the model server got, with what became of it.
// The exported fields do not change once the request is recorded.
type Request struct {
	N      int       // 1 for the first request of the server
	Time   time.Time // when its body had been read
	Method string
	Path   string
	Header http.Header
	Body   []byte

	// Decoded from Body, as far as that is possible.
	Model        string
	Stream       bool
	IncludeUsage bool // stream_options.include_usage
	Messages     []ChatMessage
	Tools        []ChatTool
	Params       map[string]json.RawMessage // every top-level key

	// Violations are the rules that the request broke, when the strict mode
	// is on.
	Violations []Violation

	ctx context.Context // the connection's life, watched by the reply's steps

	mu        sync.Mutex
	closedAt  time.Time
	endedAt   time.Time
	completed bool
	closed    chan struct{}
	done      chan struct{}
}

// newRequest decodes a request; n and Time are set when it is recorded.
func newRequest(r *http.Request, body []byte) *Request {
	req := &Request{
		Method: r.Method,
		Path:   r.URL.Path,
		Header: r.Header.Clone(),
		Body:   body,
		ctx:    r.Context(),
		closed: make(chan struct{}),
		done:   make(chan struct{}),
	}
	c, err := parseChat(body)
	if err != nil {
		return req
	}
	req.Messages, req.Tools, req.Params = c.messages, c.tools, c.fields
	req.Model = stringField(c.fields, "model")
	req.Stream = boolField(c.fields, "stream")
	req.IncludeUsage = boolField(objectField(c.fields, "stream_options"), "include_usage")
	return req
}

// LastUser returns the text of the last user message, "" without one. Of a message
// with boundary lines it is what stands between them: the user's own words,
// without what the framework says beside them.
func (r *Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return userWords(r.Messages[i].Text())
		}
	}
	return ""
}

func userWords(text string) string {
	_, words, framed := strings.Cut(text, "--- BEGIN USER INPUT ---\n")
	if end := strings.LastIndex(words, "\n--- END USER INPUT ---"); framed && end >= 0 {
		return words[:end]
	}
	return text
}

// System returns the text of the first system message, "" without one.
func (r *Request) System() string {
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			return m.Text()
		}
	}
	return ""
}

// Turn returns how many assistant messages follow the last user message: 0 for
// the first model call of a run, 1 for the call after its first tools.
func (r *Request) Turn() int {
	turn := 0
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			turn = 0
		case "assistant":
			turn++
		}
	}
	return turn
}

// ToolResult returns the text of the tool message for a call id, and whether
// there is one.
func (r *Request) ToolResult(id string) (string, bool) {
	for _, m := range r.Messages {
		if m.Role == "tool" && m.ToolCallID == id {
			return m.Text(), true
		}
	}
	return "", false
}

// Closed is closed when the client closes the connection before the reply was
// over.
func (r *Request) Closed() <-chan struct{} {
	return r.closed
}

// ClosedAt returns when the client closed the connection, and whether it did
// so before the reply was over.
func (r *Request) ClosedAt() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closedAt, !r.closedAt.IsZero()
}

// Done is closed when the server has nothing more to do for the request.
func (r *Request) Done() <-chan struct{} {
	return r.done
}

// EndedAt returns when that was; the zero time before.
func (r *Request) EndedAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endedAt
}

// Completed reports whether every step of the reply was carried out.
func (r *Request) Completed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.completed
}

func (r *Request) markClosed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closedAt.IsZero() {
		r.closedAt = time.Now()
		close(r.closed)
	}
}

func (r *Request) finish(completed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endedAt, r.completed = time.Now(), completed
	close(r.done)
}

// journal is the list of requests that a server got, in order of arrival.
type journal struct {
	mu    sync.Mutex
	list  []*Request
	grown chan struct{} // closed and replaced with each request
}

func newJournal() *journal {
	return &journal{grown: make(chan struct{})}
}

// add numbers the request and makes it visible.
func (j *journal) add(r *Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.N, r.Time = len(j.list)+1, time.Now()
	j.list = append(j.list, r)
	close(j.grown)
	j.grown = make(chan struct{})
}

// snapshot returns the requests that match, and a channel that is closed when
// there is another one.
func (j *journal) snapshot(match Matcher) ([]*Request, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*Request
	for _, r := range j.list {
		if match(r) {
			found = append(found, r)
		}
	}
	return found, j.grown
}

func boolField(fields map[string]json.RawMessage, key string) bool {
	var value bool
	return json.Unmarshal(fields[key], &value) == nil && value
}
