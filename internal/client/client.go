package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say which server is meant and how patient the client is.
type Options struct {
	// Server is the address, such as http://127.0.0.1:2026.
	Server string
	// APIKey proves who is calling; "" sends none.
	APIKey string
	// Timeout bounds requests that answer at once; 30 s when zero.
	Timeout time.Duration
	// Silence is how long a stream may give no sign of life before it counts as
	// lost; 30 s when zero. The server gives one every 5 s.
	Silence time.Duration
	// OnReconnect is told why a stream was lost and after which pause it is
	// joined again; nil is fine.
	OnReconnect func(lost error, pause time.Duration)
}

// Client is safe for many goroutines at once.
type Client struct {
	o    Options
	base string
	http *http.Client
	// firstPause is the pause before the first new attempt; the next ones are
	// longer.
	firstPause time.Duration
}

const (
	defaultTimeout = 30 * time.Second
	defaultSilence = 30 * time.Second
	// maxAnswer bounds what is read of an answer that is no stream.
	maxAnswer = 256 << 20
)

// New makes a client; it sends nothing yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(o.Server), "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("server address %q: want something like http://127.0.0.1:2026", o.Server)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Silence <= 0 {
		o.Silence = defaultSilence
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true, // it would hold streams back
	}
	return &Client{o: o, base: u.String() + "/api", http: &http.Client{Transport: transport}, firstPause: firstPause}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call. The body is sent as JSON unless it is a reader.
type request struct {
	method, path string
	query        url.Values
	body         any
	header       map[string]string
}

// do sends a request and decodes the JSON answer into out, unless out is nil.
func (c *Client) do(ctx context.Context, r request, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	res, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.lost(ctx, r, err)
	}
	if out == nil || len(bytes.TrimSpace(data)) == 0 {
		return res.Header, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("%s %s: decode the answer %q: %w", r.method, r.path, clip(string(data), 200), err)
	}
	return res.Header, nil
}

// open sends a request; the caller closes the body of the answer. An answer
// other than 2xx is a [*StatusError], none at all an [ErrUnreachable].
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	req, err := c.build(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, r, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, c.lost(ctx, r, err)
	}
	return nil, statusError(r.method, r.path, res.StatusCode, data)
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	reader, isReader := r.body.(io.Reader)
	switch {
	case isReader:
		body = reader
	case r.body != nil:
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil && !isReader {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.o.APIKey != "" {
		req.Header.Set("X-Api-Key", c.o.APIKey)
	}
	for key, value := range r.header {
		req.Header.Set(key, value)
	}
	return req, nil
}

// lost says that there was no whole answer. When the caller gave up, that is
// the error.
func (c *Client) lost(ctx context.Context, r request, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s %s: %w", r.method, r.path, ctx.Err())
	}
	return fmt.Errorf("%s %s at %s: %w: %w", r.method, r.path, c.o.Server, ErrUnreachable, err)
}
