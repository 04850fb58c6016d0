package threadclient

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
)

// Errors that callers tell apart. A refusal is a [*RefusedError].
var (
	// ErrUnavailable: Temporal cannot be reached, or did not answer in time.
	ErrUnavailable = errors.New("temporal is not available")
	// ErrNoWorker: Temporal answers, but no worker took the request in time. The
	// request may still be taken later.
	ErrNoWorker = errors.New("no worker took the request in time")
)

// RefusedError is a refusal by the thread: nothing entered its history.
type RefusedError struct {
	Type   string // one of the step.Err... types
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// refusal is the thread's own refusal in err, or nil.
func refusal(err error) *RefusedError {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return nil
	}
	switch app.Type() {
	case step.ErrBusy, step.ErrCrowded, step.ErrDuplicate, step.ErrNotCancellable, step.ErrUnknownRun, step.ErrNoQuestion, step.ErrInvalid,
		step.ErrRunRefused, step.ErrThreadGone, step.ErrNewer, step.ErrNoSummary:
		return &RefusedError{Type: app.Type(), Reason: app.Message()}
	}
	return nil
}

// duplicate reports whether the thread was asked for the same before.
func duplicate(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Type == step.ErrDuplicate
}

// missing reports whether there is no workflow, or none any more.
func missing(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

func unavailable(err error) bool {
	var away *serviceerror.Unavailable
	return errors.As(err, &away)
}

// expired reports whether the time for a request was over.
func expired(err error) bool {
	var deadline *serviceerror.DeadlineExceeded
	return errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded)
}
