package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// Bounds of an exchange with a service, unless the request has its own.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 8 << 20
)

// maxDetail is how much a service may say about its error, in characters.
const maxDetail = 200

// Request is one request to a service.
type Request struct {
	// Service is its name in errors, such as "Brave Search API".
	Service string
	// Method is GET, or POST with a body, unless it is set.
	Method string
	URL    string
	Query  url.Values
	Header map[string]string
	// JSON or Form is the body.
	JSON any
	Form url.Values
	// Timeout bounds all of it; 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxBytes bounds the answer; 0 is [DefaultMaxBytes].
	MaxBytes int64
	// Secrets are keys, which are taken out of all that the service answers.
	Secrets []string
	// Proxy is one of the entry's own; Direct does without that of the environment.
	Proxy  string
	Direct bool
}

// Response is the answer to a [Request].
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a request to a service. A status of 400 and more is an [Error] of
// [KindStatus], returned with the answer; so is a redirect to another host, since
// the key would go there too.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rt, done, err := c.transport(r.Proxy, r.Direct)
	if err != nil {
		return Response{}, err
	}
	defer done()
	request, err := r.build(ctx)
	if err != nil {
		return Response{}, err
	}
	client := &http.Client{Transport: rt, CheckRedirect: sameHost}
	answer, err := client.Do(request)
	if err != nil {
		return Response{}, r.broken(err, timeout)
	}
	defer func() { _ = answer.Body.Close() }()
	limit := r.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return Response{}, r.broken(err, timeout)
	}
	if int64(len(body)) > limit {
		return Response{}, failed(KindFormat, "%s answered with more than %s", r.Service, size(limit))
	}
	response := r.clean(Response{Status: answer.StatusCode, Header: answer.Header, Body: body})
	if answer.StatusCode >= http.StatusBadRequest {
		return response, StatusError(r.Service, answer.StatusCode, retryAfter(answer.Header), r.detail(body))
	}
	return response, nil
}

// Decode makes a request and reads the answer as JSON into out. What is not valid
// JSON, or of another shape, is [Malformed]; so is null, which says nothing.
func (c *Client) Decode(ctx context.Context, r Request, out any) error {
	response, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(response.Body, out); err != nil {
		if kind := response.Header.Get("Content-Type"); kind != "" && !strings.Contains(kind, "json") && !json.Valid(response.Body) {
			return failed(KindFormat, "%s answered with %s instead of JSON", r.Service, thread.Shorten(kind, 60))
		}
		return Malformed(r.Service)
	}
	if bytes.Equal(bytes.TrimSpace(response.Body), []byte("null")) {
		return Malformed(r.Service)
	}
	return nil
}

func (r Request) build(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	method, contentType := r.Method, ""
	switch {
	case r.JSON != nil:
		data, err := json.Marshal(r.JSON)
		if err != nil {
			return nil, failed(KindInput, "the request to the %s cannot be written: %v", r.Service, err)
		}
		body, contentType = bytes.NewReader(data), "application/json"
	case r.Form != nil:
		body, contentType = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	}
	if method == "" {
		if method = http.MethodGet; body != nil {
			method = http.MethodPost
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil { // the error quotes the address, which may hold a key
		return nil, failed(KindConfig, "the address of the %s is not configured correctly", r.Service)
	}
	if len(r.Query) > 0 {
		q := request.URL.Query()
		for name, values := range r.Query {
			q[name] = values
		}
		request.URL.RawQuery = q.Encode()
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}

var errElsewhere = errors.New("it redirects to another host")

func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) >= 5:
		return errors.New("it redirects in circles")
	case next.URL.Host != first.Host || first.Scheme == "https" && next.URL.Scheme != "https":
		return errElsewhere
	}
	return nil
}

// broken says why there is no answer. The library's error names the address with
// its query, so only the reason in it is told.
func (r Request) broken(err error, timeout time.Duration) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var net net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &net) && net.Timeout() {
		return failed(KindTimeout, "%s timed out after %s", r.Service, timeout)
	}
	return failed(KindNetwork, "the connection to %s failed: %s", r.Service, r.redact(thread.Shorten(err.Error(), maxDetail)))
}

// detail is what a service says about its error: one line, without keys.
func (r Request) detail(body []byte) string {
	return thread.Shorten(r.redact(saidError(body)), maxDetail)
}

// saidError finds the message in the JSON of an error. Anything but JSON, such as
// the page of a proxy, says nothing.
func saidError(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return ""
	}
	for range 4 { // {"detail": {"error": {"message": "..."}}}
		switch v := value.(type) {
		case string:
			return strings.Join(strings.Fields(v), " ")
		case []any:
			if len(v) == 0 {
				return ""
			}
			value = v[0]
		case map[string]any:
			value = nil
			for _, name := range []string{"error", "detail", "message", "msg", "error_message", "title"} {
				if inner, ok := v[name]; ok && inner != nil {
					value = inner
					if _, isBool := inner.(bool); !isBool {
						break
					}
				}
			}
		default:
			return ""
		}
	}
	return ""
}

// maxRetryAfter is the longest wait that is passed on.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header in its form of seconds; dates are rare, and the
// clocks of two machines differ.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// size is a number of bytes for people.
func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", (n+1023)>>10)
}
