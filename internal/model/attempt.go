package model

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// attempt sends one request and reads its answer.
func (c *Client) attempt(ctx context.Context, body []byte, req *Request, emit func(Delta) error) (*Response, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.cfg.Timeout > 0 {
		timer := time.AfterFunc(c.cfg.Timeout, func() { cancel(errTimeout) })
		defer timer.Stop()
	}
	limit := c.cfg.ChunkTimeout
	if !c.cfg.Flags.streaming() {
		limit = 0 // one long silence is the rule there
	}
	w := newWatch(cancel, limit)
	w.start()
	resp, err := c.send(call, body)
	w.stop()
	if err != nil {
		return nil, c.explain(ctx, call, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing is lost: what is needed has been read
	in := &bodyReader{body: resp.Body, watch: w, left: maxBody}
	if resp.StatusCode/100 != 2 {
		if e := c.refusal(resp, in); ctx.Err() == nil {
			return nil, e
		}
		return nil, contextError(ctx)
	}
	a := c.newAssembly(req, emit)
	if err := readAnswer(a, in, w); err != nil || ctx.Err() != nil {
		return nil, c.explain(ctx, call, err)
	}
	return a.response(c.answerContext(req, body))
}

func (c *Client) send(ctx context.Context, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if c.cfg.Flags.streaming() {
		r.Header.Set("Accept", "text/event-stream")
	}
	r.Header.Set("User-Agent", "deerflow")
	if c.opts.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+c.opts.APIKey)
	}
	for name, value := range c.opts.Headers {
		r.Header.Set(name, value)
	}
	return c.http.Do(r)
}

// refusal is the error behind an answer that is not 200.
func (c *Client) refusal(resp *http.Response, in *bodyReader) *Error {
	text, _ := io.ReadAll(io.LimitReader(in, maxErrorBody)) // what came is enough to say why
	p := parseProviderError(text)
	if p.message == "" {
		p.message = "HTTP " + resp.Status
	}
	var e *Error
	if resp.StatusCode < http.StatusBadRequest {
		e = newError(ClassBadRequest, fmt.Sprintf("the provider answered HTTP %s instead of an answer", resp.Status))
		if to := resp.Header.Get("Location"); to != "" {
			e.Message += ": it redirects to " + readable(withoutQuery(to)) + ", put that into base_url"
		}
		e.Status = resp.StatusCode
	} else {
		e = errorFrom(resp.StatusCode, p)
	}
	e.obeyHeaders(resp.Header, time.Now())
	return e
}

func withoutQuery(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "another place"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// readAnswer reads until the answer is complete, whatever form it has.
func readAnswer(a *assembly, in io.Reader, w *watch) error {
	r := bufio.NewReaderSize(in, 32<<10)
	next, err := eventsOf(r)
	if err != nil {
		return endOfAnswer(a, err)
	}
	for {
		ev, err := next()
		if err != nil {
			return endOfAnswer(a, err)
		}
		err = a.handle(ev)
		if errors.Is(err, errDone) {
			w.tighten(drainTime, errLinger)
			_, _ = r.ReadByte() // lets the connection reach its end
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case a.late:
			w.relax()
		case a.ended:
			w.tighten(lingerTime, errLinger)
		}
	}
}

// endOfAnswer judges the end of the body: only an answer that its provider
// ended is one (A01). One that was ended is not lost by what happens after.
func endOfAnswer(a *assembly, err error) error {
	if a.complete(errors.Is(err, io.EOF)) && !errors.Is(err, errTooBig) {
		return nil
	}
	return err
}

// eventsOf looks at the first character of an answer: a stream of events, JSON,
// or a web page.
func eventsOf(r *bufio.Reader) (func() (event, error), error) {
	first, err := skipBlank(r)
	if err != nil {
		return nil, err
	}
	switch first {
	case '{', '[':
		d := json.NewDecoder(r)
		return func() (event, error) { return nextJSON(d) }, nil
	case '<':
		page, _ := io.ReadAll(io.LimitReader(r, maxErrorBody)) // its title is enough
		e := streamError(page)
		e.Message += "; check base_url"
		return nil, e
	}
	return newEventReader(r).next, nil
}

// skipBlank drops a byte order mark and blanks, and returns the next byte
// without taking it. Some routers send blanks to keep a connection alive.
func skipBlank(r *bufio.Reader) (byte, error) {
	if mark, err := r.Peek(3); err == nil && bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		_, _ = r.Discard(len(mark)) // it is buffered
	}
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, r.UnreadByte()
		}
	}
}

func nextJSON(d *json.Decoder) (event, error) {
	var raw json.RawMessage
	err := d.Decode(&raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return event{}, unreadableEvent([]byte(syntax.Error()))
	}
	return event{data: raw}, err
}

// explain makes an error of what ended a call early. The caller's context comes
// first: whoever cancels is not told of an outage.
func (c *Client) explain(ctx, call context.Context, err error) error {
	var e *Error
	switch cause := context.Cause(call); {
	case ctx.Err() != nil:
		return contextError(ctx)
	case errors.As(err, &e):
		return e
	case errors.Is(cause, errIdle):
		e = newError(ClassIdleTimeout, fmt.Sprintf("%v (%s)", errIdle, c.cfg.ChunkTimeout))
	case errors.Is(cause, errTimeout):
		e = newError(ClassTransient, fmt.Sprintf("%v (%s)", errTimeout, c.cfg.Timeout))
		e.MaxAttempts = fewAttempts
	default:
		return failedRead(err)
	}
	e.cause = err
	return e
}

// contextError is why a context is over: its error, and the cause when there is one.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// failedRead names a failure of the connection or of the body. An error of the
// caller's emit is none and stays what it is.
func failedRead(err error) error {
	var (
		e       *Error
		ours    *emitError
		address *url.Error
		cert    *tls.CertificateVerificationError
		host    x509.HostnameError
	)
	switch {
	case errors.Is(err, errLineTooLong), errors.Is(err, errTooBig):
		e = newError(ClassGeneric, err.Error())
	case errors.As(err, &cert), errors.As(err, &host):
		e = newError(ClassGeneric, "the provider's certificate is not accepted: "+innermost(err))
	case errors.As(err, &address): // its text has the whole URL
		e = newError(ClassTransient, "no connection to the provider: "+address.Err.Error())
		err = address.Err
	case errors.As(err, &ours):
		return err
	case errors.Is(err, io.EOF):
		e = newError(ClassCutStream, "the stream ended before the answer did")
	default:
		e = newError(ClassCutStream, "the stream was cut: "+err.Error())
	}
	e.cause = err
	return e
}

// innermost is the text of the error at the bottom.
func innermost(err error) string {
	for {
		below := errors.Unwrap(err)
		if below == nil {
			return err.Error()
		}
		err = below
	}
}
