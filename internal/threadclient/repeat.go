package threadclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Pauses between repeats of a request.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// probeTimeout is how long Temporal may take to say that it is there.
const probeTimeout = 2 * time.Second

// request is one request to a thread.
type request struct {
	call func(context.Context) error
	// starts: the request starts the workflow where none runs. One that ended
	// while the request was on its way is no reason to give up.
	starts bool
	// missing is the refusal for a thread without a workflow.
	missing *RefusedError
	// timeout is for a request that may take longer than others.
	timeout time.Duration
}

// do calls, again with the same update id where the server says that the request
// was not taken or that its workflow continued meanwhile.
func (c *Client) do(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, max(c.o.Timeout, r.timeout))
	defer cancel()
	if err := c.reach(ctx); err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := r.call(ctx)
		if err == nil || !r.again(err) {
			return c.classify(ctx, r, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return fmt.Errorf("%w: the request was repeated until its time was over: %w", ErrUnavailable, err)
		}
	}
}

// reach fails at once when Temporal is away. Without it the SDK would repeat a
// request for as long as its context lives, and then nobody could tell whether
// Temporal or a worker was missing.
func (c *Client) reach(ctx context.Context) error {
	probe, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := c.o.Temporal.CheckHealth(probe, &client.CheckHealthRequest{})
	if unavailable(err) || expired(err) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil // whatever else is wrong, the request itself tells better
}

// again tells errors after which the same request may simply be sent again.
// Unavailable is not among them: the SDK has repeated it already, and a caller
// wants to hear at once that Temporal is away.
func (r *request) again(err error) bool {
	var exhausted *serviceerror.ResourceExhausted
	var notReady *serviceerror.WorkflowNotReady // its task failed while the update was in it
	if errors.As(err, &exhausted) || errors.As(err, &notReady) {
		return true
	}
	if r.starts && missing(err) {
		return true
	}
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == "AcceptedUpdateCompletedWorkflow"
}

// classify turns an error that ends a request into one that callers tell apart.
func (c *Client) classify(ctx context.Context, r request, err error) error {
	if err == nil {
		return nil
	}
	if refused := refusal(err); refused != nil {
		return refused
	}
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	switch {
	case r.missing != nil && missing(err):
		return r.missing
	case errors.As(err, &late):
		if away := c.reach(context.WithoutCancel(ctx)); away != nil {
			return fmt.Errorf("%w: %w", away, err)
		}
		return fmt.Errorf("%w: %w", ErrNoWorker, err)
	case unavailable(err), expired(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
