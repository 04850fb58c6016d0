package web

import (
	"fmt"
	"net/http"
	"time"
)

// Kind says what went wrong, for code; the text of an [Error] says it to the model.
type Kind string

// What can go wrong.
const (
	KindConfig    Kind = "config"     // the operator has to set something, such as a key
	KindInput     Kind = "input"      // the model has to ask differently
	KindRefused   Kind = "refused"    // the address is one that must not be visited
	KindTimeout   Kind = "timeout"    // no answer in time
	KindNetwork   Kind = "network"    // no connection, or one that broke
	KindStatus    Kind = "status"     // an HTTP status that is no success
	KindFormat    Kind = "format"     // an answer that is not what it should be
	KindNoContent Kind = "no_content" // an answer without anything in it
)

// Error is a failure in the words that the model reads. Later code tells its class
// by the words in it ("not configured", "HTTP 404", "timed out", "No results
// found"), so these stay.
type Error struct {
	Kind       Kind
	Status     int           // of an HTTP answer, else 0
	Page       bool          // the status is that of the page, not that of a service
	RetryAfter time.Duration // what a service asks for, else 0
	Message    string        // one sentence without a full stop; no keys
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

func failed(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// NotConfigured says that a key is missing, by the name of its variable.
func NotConfigured(env string) *Error {
	return failed(KindConfig, "%s is not configured", env)
}

// Malformed says that a service answered in a form that nobody expected.
func Malformed(service string) *Error {
	return failed(KindFormat, "%s answered in an unexpected format", service)
}

// NoContent says that a service found nothing on a page.
func NoContent() *Error { return failed(KindNoContent, "No content found") }

// StatusError says that a service answered with a status that is no success. The
// detail is the service's own, one line without keys; it may be empty.
func StatusError(service string, status int, retryAfter time.Duration, detail string) *Error {
	return statusError(service, status, retryAfter, statusMeaning(status), detail)
}

// PageError says that a page itself answered with a status that is no success.
func PageError(status int, retryAfter time.Duration, detail string) *Error {
	meaning := statusMeaning(status)
	switch status {
	case http.StatusUnauthorized:
		meaning = "unauthorized: it wants a login"
	case http.StatusPaymentRequired:
		meaning = "it wants to be paid"
	}
	e := statusError("the page", status, retryAfter, meaning, detail)
	e.Page = true
	return e
}

func statusError(who string, status int, retryAfter time.Duration, meaning, detail string) *Error {
	e := &Error{Kind: KindStatus, Status: status, RetryAfter: retryAfter}
	e.Message = fmt.Sprintf("%s answered HTTP %d", who, status)
	if meaning != "" {
		e.Message += " (" + meaning + ")"
	}
	if detail != "" {
		e.Message += ": " + detail
	}
	if retryAfter > 0 {
		e.Message += fmt.Sprintf("; it asks to wait %s", retryAfter.Round(time.Second))
	}
	return e
}

// statusMeaning says in words by which results are classified what a status means.
func statusMeaning(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized: the key is not accepted"
	case http.StatusPaymentRequired, 432, 433:
		return "the plan's limit is reached"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound, http.StatusGone:
		return "not found"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timed out"
	case http.StatusTooManyRequests:
		return "rate limited"
	case http.StatusInternalServerError:
		return "internal error"
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return "temporarily unavailable"
	}
	return ""
}

// NoResults says that a search found nothing.
func NoResults() *Error { return failed(KindNoContent, "No results found") }

// NoImages says that a search found no image.
func NoImages() *Error { return failed(KindNoContent, "No images found") }
