package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// Options are what a client needs beside its configuration.
type Options struct {
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string
	// Headers are sent with every request. Their values count as secrets.
	Headers map[string]string
	// Transport carries the requests; nil is http.DefaultTransport. Clients of
	// one process should share one, see [NewTransport].
	Transport http.RoundTripper
	// Logger tells what is not an error; nil is silent.
	Logger *slog.Logger
	// Scope is what [Request.Scope] is when that is empty.
	Scope string
	// Delay is the pause between two pieces of the demo's answers; 0 is a few
	// milliseconds, below 0 is none. Clients ignore it.
	Delay time.Duration
}

// Client calls one configured model. It is safe for concurrent use and meant to
// be kept: it remembers what its provider does not understand.
type Client struct {
	cfg      Config
	opts     Options
	endpoint string
	http     *http.Client
	log      *slog.Logger
	redact   *redactor
	lessons  lessons
}

var _ Chatter = (*Client)(nil)

// New makes a client. It refuses a configuration that could only fail later.
func New(cfg Config, o Options) (*Client, error) {
	o.APIKey = strings.TrimSpace(o.APIKey)
	err := cfg.check()
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		err = errors.Join(err, errors.New("api_key: it has control characters in it; it must be one line"))
	}
	if err != nil {
		return nil, fmt.Errorf("configure model %q: %w", cfg.Name, err)
	}
	endpoint, err := cfg.endpoint()
	if err != nil {
		return nil, fmt.Errorf("configure model %q: %w", cfg.Name, err)
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{
		cfg: cfg, opts: o, endpoint: endpoint, log: log,
		http: &http.Client{
			Transport: o.Transport,
			// A redirect would carry the conversation, or an empty request,
			// somewhere that nobody configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		redact: newRedactor(o.APIKey, o.Headers),
	}, nil
}

// Chat makes one attempt. A refusal that names an optional field of the request
// is answered by the same request without the field.
func (c *Client) Chat(ctx context.Context, req Request, emit func(Delta) error) (*Response, error) {
	for {
		sent := c.lessons.get()
		body, err := encodeRequest(&c.cfg, sent, &req)
		if err != nil {
			return nil, c.finishError(newBadRequest(err))
		}
		r, err := c.attempt(ctx, body, &req, emit)
		if err == nil {
			return r, nil
		}
		var e *Error
		if !errors.As(err, &e) {
			return nil, fmt.Errorf("call model %s: %w", c.cfg.Name, err)
		}
		if !c.lessons.learn(e, sent) {
			return nil, c.finishError(e)
		}
		c.log.InfoContext(ctx, "Provider refused an optional field, sending without it",
			"model", c.cfg.Name, "refusal", c.redact.clean(e.Message))
	}
}

// newBadRequest is a request that cannot be made.
func newBadRequest(err error) *Error {
	e := newError(ClassBadRequest, "make the request: "+err.Error())
	e.cause = err
	return e
}

// finishError puts the model's name in and secrets out.
func (c *Client) finishError(e *Error) *Error {
	e.model = firstOf(c.cfg.Name, c.cfg.Model)
	e.Message = c.redact.clean(e.Message)
	e.Code = c.redact.clean(e.Code)
	return e
}

// newAssembly is where the answer to a request is put together.
func (c *Client) newAssembly(req *Request, emit func(Delta) error) *assembly {
	seen := seenCallIDs(req.Messages)
	a := &assembly{emit: emit}
	a.calls.known = func(id string) bool {
		return seen[id] || req.KnownCallIDs != nil && req.KnownCallIDs(id)
	}
	return a
}

func (c *Client) answerContext(req *Request, body []byte) answerContext {
	scope := firstOf(req.Scope, c.opts.Scope)
	if scope == "" { // the same request in every attempt, another one in every step
		sum := sha256.Sum256(body)
		scope = hex.EncodeToString(sum[:6])
	}
	return answerContext{
		configured: c.cfg.Name, model: c.cfg.Model, provider: "openai",
		tools: req.Tools, noTools: req.NoTools || len(req.Tools) == 0, scope: scope,
	}
}

// seenCallIDs are the ids of all calls in messages.
func seenCallIDs(messages []thread.Message) map[string]bool {
	seen := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		for n := range m.CallCount() {
			call, _, _ := m.CallAt(n)
			seen[call.ID] = true
		}
	}
	return seen
}
