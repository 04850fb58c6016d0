package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Errors that callers decide by; match them with [errors.Is].
var (
	// ErrUnreachable: there is no answer: nobody listens, or the connection was
	// lost.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrUnauthorized: the server wants to know who is calling (401).
	ErrUnauthorized = errors.New("not authenticated")
	// ErrForbidden: the caller may not do that (403).
	ErrForbidden = errors.New("not allowed")
	// ErrNotFound: there is no such thread, run or file (404).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the thread is not in a state for that, such as busy (409).
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the server lacks a part that it needs (503).
	ErrUnavailable = errors.New("the server is not available")
)

// StatusError is an answer other than 2xx.
type StatusError struct {
	Method, Path string
	Status       int
	Detail       string // what the server says
	RequestID    string // under which its log has more; "" if it names none
	RunID        string // of the active run, in some conflicts
}

// Error names the request, the status and what the server says.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Is matches the error of its status.
func (e *StatusError) Is(target error) bool {
	switch e.Status {
	case http.StatusUnauthorized:
		return target == ErrUnauthorized
	case http.StatusForbidden:
		return target == ErrForbidden
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusConflict:
		return target == ErrConflict
	case http.StatusServiceUnavailable:
		return target == ErrUnavailable
	}
	return false
}

// passing reports whether the same request may be answered after a while.
func (e *StatusError) passing() bool {
	switch e.Status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	}
	return false
}

// statusError reads what an answer says.
func statusError(method, path string, status int, body []byte) *StatusError {
	e := &StatusError{Method: method, Path: path, Status: status}
	var answer struct {
		Detail    json.RawMessage `json:"detail"`
		RequestID string          `json:"request_id"`
		RunID     string          `json:"run_id"`
	}
	if json.Unmarshal(body, &answer) != nil {
		e.Detail = clip(strings.TrimSpace(string(body)), 300)
		return e
	}
	e.RequestID, e.RunID, e.Detail = answer.RequestID, answer.RunID, detailText(answer.Detail)
	return e
}

// detailText makes a sentence of the three forms that a detail has: a text, a
// list of field errors, or an object with a message.
func detailText(detail json.RawMessage) string {
	var text string
	if json.Unmarshal(detail, &text) == nil {
		return text
	}
	var fields []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(detail, &fields) == nil {
		lines := make([]string, len(fields))
		for i, f := range fields {
			lines[i] = strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Loc), "[]"), " ", ".") + ": " + f.Msg
		}
		return strings.Join(lines, "; ")
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(detail, &object) == nil && object.Message != "" {
		return object.Message
	}
	return clip(string(detail), 300)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// isDial tells a connection that never came about.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
