package threadclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Errors that callers tell apart. Refused is a [*RefusedError].
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

// Options configure a [Client].
type Options struct {
	Temporal client.Client
	Settings step.ThreadSettings
	// Timeout bounds one request with all its repeats; 10 s when zero.
	Timeout time.Duration
}

// Client speaks to thread workflows.
type Client struct{ o Options }

// New makes a client.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	return &Client{o: o}
}

// Submit hands a run, whose row the store holds, to its thread; the first one
// starts the workflow. Submitting the same run again is harmless.
func (c *Client) Submit(ctx context.Context, user, threadID string, s step.SubmitRun) (step.SubmitResult, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	var out step.SubmitResult
	err := c.repeat(ctx, func(ctx context.Context) error {
		start := c.o.Temporal.NewWithStartWorkflowOperation(c.startOptions(threadID), step.ThreadWorkflow,
			step.ThreadInput{Version: 1, Thread: threadID, User: user, Settings: c.o.Settings})
		h, err := c.o.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions:          updateOptions(threadID, step.UpdateSubmitRun, "submit-"+s.RunID, s),
		})
		if err != nil {
			return err
		}
		return h.Get(ctx, &out)
	})
	if err != nil {
		return out, fmt.Errorf("submit run %s to thread %s: %w", s.RunID, threadID, err)
	}
	return out, nil
}

// Cancel stops a run of a thread.
func (c *Client) Cancel(ctx context.Context, threadID, updateID string, r step.CancelRun) (step.CancelResult, error) {
	var out step.CancelResult
	if err := c.update(ctx, threadID, step.UpdateCancelRun, updateID, r, &out); err != nil {
		return out, fmt.Errorf("cancel run %s of thread %s: %w", r.RunID, threadID, err)
	}
	return out, nil
}

// Answer answers an open question of a thread.
func (c *Client) Answer(ctx context.Context, threadID, updateID string, a step.Answer) (step.AnswerResult, error) {
	var out step.AnswerResult
	if err := c.update(ctx, threadID, step.UpdateAnswer, updateID, a, &out); err != nil {
		return out, fmt.Errorf("answer a question of thread %s: %w", threadID, err)
	}
	return out, nil
}

// Wake starts the workflow of a thread that has work to go on with, when none
// runs; it reads its own checkpoint.
func (c *Client) Wake(ctx context.Context, user, threadID string) error {
	_, err := c.o.Temporal.ExecuteWorkflow(ctx, c.startOptions(threadID), step.ThreadWorkflow,
		step.ThreadInput{Version: 1, Thread: threadID, User: user, Settings: c.o.Settings})
	if err != nil {
		return fmt.Errorf("start the workflow of thread %s: %w", threadID, err)
	}
	return nil
}

// Stop ends the workflow of a thread that is being deleted. No workflow is
// fine.
func (c *Client) Stop(ctx context.Context, threadID string) error {
	err := c.o.Temporal.TerminateWorkflow(ctx, thread.WorkflowID(threadID), "", "the thread was deleted")
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("stop the workflow of thread %s: %w", threadID, classify(err))
	}
	return nil
}

func (c *Client) startOptions(threadID string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       thread.WorkflowID(threadID),
		TaskQueue:                step.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
}

func (c *Client) update(ctx context.Context, threadID, name, updateID string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	return c.repeat(ctx, func(ctx context.Context) error {
		h, err := c.o.Temporal.UpdateWorkflow(ctx, updateOptions(threadID, name, updateID, in))
		if err != nil {
			return err
		}
		return h.Get(ctx, out)
	})
}

func updateOptions(threadID, name, updateID string, in any) client.UpdateWorkflowOptions {
	return client.UpdateWorkflowOptions{
		WorkflowID: thread.WorkflowID(threadID), UpdateID: updateID, UpdateName: name,
		Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
}

// repeat calls again, with the same update id, where the server says that the
// request was not taken or that its workflow continued meanwhile.
func (c *Client) repeat(ctx context.Context, call func(context.Context) error) error {
	pause := 5 * time.Millisecond
	for {
		err := call(ctx)
		if err == nil || !again(err) || ctx.Err() != nil {
			return classify(err)
		}
		select {
		case <-ctx.Done():
			return classify(err)
		case <-time.After(pause):
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// again tells errors after which the same request may simply be sent again.
// Unavailable is not among them: the SDK has repeated it already, and a caller
// wants to hear at once that Temporal is away.
func again(err error) bool {
	var exhausted *serviceerror.ResourceExhausted
	if errors.As(err, &exhausted) {
		return true
	}
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == "AcceptedUpdateCompletedWorkflow"
}

func classify(err error) error {
	if err == nil {
		return nil
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		switch app.Type() {
		case step.ErrBusy, step.ErrNotCancellable, step.ErrNoQuestion, step.ErrInvalid, step.ErrRunRefused, step.ErrThreadGone:
			return &RefusedError{Type: app.Type(), Reason: app.Message()}
		}
		return err
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return &RefusedError{Type: step.ErrNotCancellable, Reason: "the thread has no workflow that runs"}
	}
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	if errors.As(err, &timeout) {
		return fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	var unavailable *serviceerror.Unavailable
	if errors.As(err, &unavailable) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
