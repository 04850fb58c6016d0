package model

import (
	"fmt"
	"strings"
	"time"
)

// Class says what a failure is.
type Class string

// The classes of failures.
const (
	ClassQuota         Class = "quota"          // money or quota is used up
	ClassAuth          Class = "auth"           // the key is missing, wrong or not allowed to
	ClassBadRequest    Class = "bad_request"    // the provider will never take this request
	ClassContextLength Class = "context_length" // the request does not fit into the window
	ClassBurstRate     Class = "burst_rate"     // the rate rose too quickly
	ClassTransient     Class = "transient"      // an outage, a lost connection, a plain rate limit
	ClassBusy          Class = "busy"           // the provider says that it is overloaded
	ClassCutStream     Class = "cut_stream"     // the answer ended before its end (A01)
	ClassIdleTimeout   Class = "idle_timeout"   // silence for longer than Config.ChunkTimeout (A25)
	// ClassUnstructuredCall: the model wrote a tool call as text (A16). It is
	// worth one more attempt; after that the run has to end with this error,
	// never with the markup as its answer.
	ClassUnstructuredCall Class = "unstructured_call"
	// ClassCircuitOpen: the provider is given a rest, so it was not called.
	ClassCircuitOpen Class = "circuit_open"
	ClassGeneric     Class = "generic" // anything else
)

// Error is a failure of the provider or of the way to it.
type Error struct {
	Class Class
	// Status is the HTTP status, also one that was only named in the body; 0
	// when there was none.
	Status int
	// Code is the provider's own code or type, "" when there was none.
	Code string
	// Message is the provider's own sentence, cut to a readable length, without
	// secrets; for failures on our side of the wire it is ours.
	Message string
	// RetryAfter is how long the provider asks to wait; 0 when it did not.
	RetryAfter time.Duration
	// Retryable says that another attempt can help.
	Retryable bool
	// MaxAttempts bounds the attempts below the policy, the first included; 0
	// leaves it to the policy.
	MaxAttempts int

	model string
	cause error
}

// Error is one line: the model, the class and the provider's sentence.
func (e *Error) Error() string {
	var b strings.Builder
	if e.model != "" {
		fmt.Fprintf(&b, "model %s: ", e.model)
	}
	b.WriteString(string(e.Class))
	switch {
	case e.Status != 0 && e.Code != "":
		fmt.Fprintf(&b, " (HTTP %d, %s)", e.Status, e.Code)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	case e.Code != "":
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Unwrap is the error below, such as a network error; nil when there is none.
func (e *Error) Unwrap() error { return e.cause }

// fewAttempts is the bound for failures that one repetition may cure and many
// would only make dearer.
const fewAttempts = 2

// newError makes an error of a class with the retry rule that goes with it.
func newError(class Class, message string) *Error {
	e := &Error{Class: class, Message: message}
	switch class {
	case ClassTransient, ClassBusy, ClassCutStream:
		e.Retryable = true
	case ClassBurstRate, ClassIdleTimeout, ClassUnstructuredCall:
		e.Retryable, e.MaxAttempts = true, fewAttempts
	case ClassQuota, ClassAuth, ClassBadRequest, ClassContextLength, ClassCircuitOpen, ClassGeneric:
	}
	return e
}
