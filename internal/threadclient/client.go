package threadclient

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Options configure a [Client].
type Options struct {
	Temporal client.Client
	// Settings gives those of a workflow that is started; nil is none.
	Settings func() step.ThreadSettings
	// Timeout bounds one request with all its repeats; 10 s when zero.
	Timeout time.Duration
}

// Client speaks to thread workflows.
type Client struct{ o Options }

// New makes a client.
func New(o Options) *Client {
	if o.Settings == nil {
		o.Settings = func() step.ThreadSettings { return step.ThreadSettings{} }
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	return &Client{o: o}
}

// Submit hands a run, whose row the store holds, to its thread; the first one
// starts the workflow. Submitting the same run again is harmless.
func (c *Client) Submit(ctx context.Context, user, threadID string, s step.SubmitRun) (step.SubmitResult, error) {
	var out step.SubmitResult
	err := c.startWith(ctx, user, threadID, updateOptions(threadID, step.UpdateSubmitRun, submitID(s), s), &out)
	if duplicate(err) {
		return step.SubmitResult{RunID: s.RunID, Duplicate: true}, nil
	}
	if err != nil {
		return out, fmt.Errorf("submit run %s to thread %s: %w", s.RunID, threadID, err)
	}
	return out, nil
}

func submitID(s step.SubmitRun) string {
	if s.Again == 0 {
		return "submit-" + s.RunID
	}
	return fmt.Sprintf("submit-%s-%d", s.RunID, s.Again)
}

// Cancel stops a run of a thread that has not ended, or closes its question; one
// that is being stopped already is fine. A workflow that was lost, or that ended
// because the run is a newer program's, starts with it.
func (c *Client) Cancel(ctx context.Context, user, threadID, updateID string, r step.CancelRun) (step.CancelResult, error) {
	var out step.CancelResult
	err := c.startWith(ctx, user, threadID, updateOptions(threadID, step.UpdateCancelRun, updateID, r), &out)
	if duplicate(err) {
		return step.CancelResult{RunID: r.RunID, Status: thread.RunInterrupted}, nil
	}
	if err != nil {
		return out, fmt.Errorf("cancel run %s of thread %s: %w", r.RunID, threadID, err)
	}
	return out, nil
}

// startWith sends an update; the workflow of a thread that has none starts with
// it.
func (c *Client) startWith(ctx context.Context, user, threadID string, update client.UpdateWorkflowOptions, out any) error {
	return c.do(ctx, request{starts: true, call: func(ctx context.Context) error {
		start := c.o.Temporal.NewWithStartWorkflowOperation(startOptions(threadID), step.ThreadWorkflow, c.input(user, threadID))
		h, err := c.o.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start, UpdateOptions: update,
		})
		if err != nil {
			return err
		}
		return h.Get(ctx, out)
	}})
}

// Answer answers an open question of a thread. A thread without a workflow has
// none: that is a refusal of type NoQuestion.
func (c *Client) Answer(ctx context.Context, threadID, updateID string, a step.Answer) (step.AnswerResult, error) {
	var out step.AnswerResult
	missing := &RefusedError{Type: step.ErrNoQuestion, Reason: "the thread has no workflow that waits with a question"}
	if err := c.update(ctx, threadID, step.UpdateAnswer, updateID, missing, a, &out); err != nil {
		return out, fmt.Errorf("answer a question of thread %s: %w", threadID, err)
	}
	return out, nil
}

// UpdateState changes the state of a thread between runs; the workflow of one that
// has none starts with it.
func (c *Client) UpdateState(ctx context.Context, user, threadID string, u step.UpdateState) (step.UpdateStateResult, error) {
	var out step.UpdateStateResult
	if err := c.startWith(ctx, user, threadID, updateOptions(threadID, step.UpdateSetState, u.ID, u), &out); err != nil {
		return out, fmt.Errorf("update the state of thread %s: %w", threadID, err)
	}
	return out, nil
}

// compactTimeout is how long a model may take to write a summary, with all
// repeats.
const compactTimeout = 3 * time.Minute

// Compact summarises the older messages of a thread between runs; the workflow
// of one that has none starts with it.
func (c *Client) Compact(ctx context.Context, user, threadID string, k step.Compact) (step.CompactResult, error) {
	var out step.CompactResult
	err := c.do(ctx, request{starts: true, timeout: compactTimeout, call: func(ctx context.Context) error {
		start := c.o.Temporal.NewWithStartWorkflowOperation(startOptions(threadID), step.ThreadWorkflow, c.input(user, threadID))
		h, err := c.o.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions:          updateOptions(threadID, step.UpdateCompact, k.ID, k),
		})
		if err != nil {
			return err
		}
		return h.Get(ctx, &out)
	}})
	if err != nil {
		return out, fmt.Errorf("compact thread %s: %w", threadID, err)
	}
	return out, nil
}

// Wake starts the workflow of a thread that has work to go on with, when none
// runs; it reads its own checkpoint. Where a person has ended the last one from
// outside, the new one ends what that one was doing.
func (c *Client) Wake(ctx context.Context, user, threadID string) error {
	err := c.do(ctx, request{starts: true, call: func(ctx context.Context) error {
		input := c.input(user, threadID)
		d, err := c.o.Temporal.DescribeWorkflowExecution(ctx, thread.WorkflowID(threadID), "")
		switch {
		case missing(err): // never started, or Temporal's database is a new one
		case err != nil:
			return err
		case d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			return nil
		default:
			input.Stopped = endedFromOutside(d.GetWorkflowExecutionInfo().GetStatus())
		}
		_, err = c.o.Temporal.ExecuteWorkflow(ctx, startOptions(threadID), step.ThreadWorkflow, input)
		return err
	}})
	if err != nil {
		return fmt.Errorf("start the workflow of thread %s: %w", threadID, err)
	}
	return nil
}

func endedFromOutside(s enumspb.WorkflowExecutionStatus) bool {
	return s == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED || s == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
}

// Stop ends the workflow of a thread that is being deleted. No workflow is
// fine.
func (c *Client) Stop(ctx context.Context, threadID string) error {
	err := c.do(ctx, request{call: func(ctx context.Context) error {
		err := c.o.Temporal.TerminateWorkflow(ctx, thread.WorkflowID(threadID), "", "the thread was deleted")
		if missing(err) {
			return nil
		}
		return err
	}})
	if err != nil {
		return fmt.Errorf("stop the workflow of thread %s: %w", threadID, err)
	}
	return nil
}

func (c *Client) input(user, threadID string) step.ThreadInput {
	return step.ThreadInput{Version: 1, Thread: threadID, User: user, Settings: c.o.Settings()}
}

func startOptions(threadID string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       thread.WorkflowID(threadID),
		TaskQueue:                step.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
}

func (c *Client) update(ctx context.Context, threadID, name, updateID string, missing *RefusedError, in, out any) error {
	return c.do(ctx, request{missing: missing, call: func(ctx context.Context) error {
		h, err := c.o.Temporal.UpdateWorkflow(ctx, updateOptions(threadID, name, updateID, in))
		if err != nil {
			return err
		}
		return h.Get(ctx, out)
	}})
}

func updateOptions(threadID, name, updateID string, in any) client.UpdateWorkflowOptions {
	return client.UpdateWorkflowOptions{
		WorkflowID: thread.WorkflowID(threadID), UpdateID: updateID, UpdateName: name,
		Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
}
