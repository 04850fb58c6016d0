package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// API is a small client of the product's HTTP API in the shapes of LangGraph.
// It knows no more of them than tests need, never retries, and sends exactly
// what it is told. It is safe for concurrent use.
type API struct {
	base   string // scheme and host
	prefix string // where the dialect is mounted
	header http.Header
	client *http.Client
	life   context.Context // bounds the streams, which outlive the calls that open them
	end    context.CancelFunc
}

// HTTPError is an answer other than 2xx.
type HTTPError struct {
	Method string
	URL    string
	Status int
	Header http.Header
	Body   string
}

// Error returns the request, the status and the start of the body.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("%s %s: HTTP %d: %.2000s", e.Method, e.URL, e.Status, e.Body)
}

// StatusOf returns the HTTP status that err is about, 0 when it is about none.
func StatusOf(err error) int {
	var refused *HTTPError
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// NewAPI returns a client of the server at base ("http://host:port") in the
// dialect of the root paths.
func NewAPI(base string) *API {
	life, end := context.WithCancel(context.Background())
	return &API{
		life:   life,
		end:    end,
		base:   strings.TrimRight(base, "/"),
		header: http.Header{},
		// Bodies are counted and compared, so they are not compressed.
		client: &http.Client{Transport: &http.Transport{DisableCompression: true}},
	}
}

// WithPrefix returns a client whose paths start with prefix, such as "/api"
// for DeerFlow's dialect.
func (a *API) WithPrefix(prefix string) *API {
	copied := *a
	copied.prefix = prefix
	return &copied
}

// WithHeader returns a client that sends one more header.
func (a *API) WithHeader(name, value string) *API {
	copied := *a
	copied.header = a.header.Clone()
	copied.header.Set(name, value)
	return &copied
}

// Close ends the open streams and drops idle connections, also those of the
// clients that share this one's origin. The client is of no use afterwards.
func (a *API) Close() {
	a.end()
	a.client.CloseIdleConnections()
}

// Do sends one request and decodes the JSON answer into out, unless out is nil
// or the answer has no body. A nil body sends none, a []byte is sent as it is,
// anything else as JSON. The path is below the prefix. An answer other than 2xx
// is an [HTTPError].
func (a *API) Do(ctx context.Context, method, path string, body, out any) (http.Header, error) {
	res, err := a.send(ctx, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = data
		return res.Header, nil
	}
	if out == nil || len(bytes.TrimSpace(data)) == 0 {
		return res.Header, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("%s %s: decode the answer %.500q: %w", method, path, data, err)
	}
	return res.Header, nil
}

// send sends one request; the caller closes the body of the answer.
func (a *API) send(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	payload, err := encodeBody(body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: encode the body: %w", method, path, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+a.prefix+path, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, more := range []http.Header{a.header, header} {
		for name, values := range more {
			req.Header[name] = values
		}
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the answer %s: %w", method, path, res.Status, err)
	}
	return nil, &HTTPError{Method: method, URL: req.URL.String(), Status: res.StatusCode, Header: res.Header, Body: string(text)}
}

// openStream sends a request that is answered with an event stream. A lastID
// that is not empty is sent as Last-Event-ID. The stream outlives ctx; it ends
// with [SSE.Close] or [API.Close].
func (a *API) openStream(ctx context.Context, method, path string, body any, lastID string) (*SSE, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	life, cancel := context.WithCancel(a.life)
	unlink := context.AfterFunc(ctx, cancel) // until there is an answer
	res, err := a.send(life, method, path, body, header)
	if late := !unlink(); late {
		if err == nil {
			err = res.Body.Close()
		}
		err = errors.Join(fmt.Errorf("%s %s: no answer in time: %w", method, path, ctx.Err()), err)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		cancel()
		return nil, errors.Join(fmt.Errorf("%s %s: the answer is %q and no event stream", method, path, kind), res.Body.Close())
	}
	rejoin := path
	if method != http.MethodGet {
		rejoin = a.location(res.Header)
	}
	return openSSE(a, res, rejoin, cancel), nil
}

// location returns the path, below the prefix, where a stream can be joined
// again, "" when the answer names none.
func (a *API) location(header http.Header) string {
	path := header.Get("Location")
	if path == "" {
		if path = header.Get("Content-Location"); path == "" {
			return ""
		}
		path += "/stream"
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, a.base), a.prefix)
}

func encodeBody(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	default:
		return json.Marshal(body)
	}
}
