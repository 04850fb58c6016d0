package threadclient

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Errors as the SDK gives them.
var (
	errExhausted = fmt.Errorf("failed workflow update: %w", serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "workflow is closing"))
	errContinued = temporal.NewApplicationError("the workflow completed before the update", "AcceptedUpdateCompletedWorkflow")
	errNotReady  = serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	errClosed    = fmt.Errorf("failed workflow update: %w", serviceerror.NewNotFound("workflow update was aborted by closing workflow"))
	errAway      = fmt.Errorf("failed reaching server: %w", serviceerror.NewUnavailable("connection refused"))
	errLate      = client.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded)
)

const quick = 50 * time.Millisecond

func TestSubmitStartsTheThreadWithItsFirstRun(t *testing.T) {
	t.Parallel()
	f := fake(outcome{value: step.SubmitResult{RunID: "r1", Queued: true}})
	submit := step.SubmitRun{RunID: "r1", Multitask: thread.MultitaskEnqueue, Messages: 1}
	out, err := clientOf(t, f, 0).Submit(context.Background(), "u1", "t1", submit)
	require.NoError(t, err)
	require.Equal(t, step.SubmitResult{RunID: "r1", Queued: true}, out)
	require.Len(t, f.requests, 1)
	got := f.requests[0]
	require.Equal(t, client.UpdateWorkflowOptions{
		WorkflowID: "thread/t1", UpdateID: "submit-r1", UpdateName: step.UpdateSubmitRun, Args: []any{submit}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}, got.update)
	require.Equal(t, client.StartWorkflowOptions{
		ID: "thread/t1", TaskQueue: step.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, got.start)
	require.Equal(t, []any{step.ThreadWorkflow, step.ThreadInput{Version: 1, Thread: "t1", User: "u1", Settings: step.ThreadSettings{ContinueEvents: 2000}}}, got.args)
}

func TestASubmissionAfterARefusalIsAnUpdateOfItsOwn(t *testing.T) {
	t.Parallel()
	f := fake(outcome{value: step.SubmitResult{RunID: "r1"}})
	_, err := clientOf(t, f, 0).Submit(context.Background(), "u1", "t1", step.SubmitRun{RunID: "r1", Again: 2})
	require.NoError(t, err)
	require.Equal(t, "submit-r1-2", f.requests[0].update.UpdateID)
}

func TestOtherRequestsNameTheThread(t *testing.T) {
	t.Parallel()
	f := fake(outcome{value: step.CancelResult{RunID: "r1", Status: thread.RunInterrupted}})
	cancelled, err := clientOf(t, f, 0).Cancel(context.Background(), "u1", "t1", "c-1", step.CancelRun{RunID: "r1"})
	require.NoError(t, err)
	require.Equal(t, thread.RunInterrupted, cancelled.Status)
	require.Equal(t, client.UpdateWorkflowOptions{
		WorkflowID: "thread/t1", UpdateID: "c-1", UpdateName: step.UpdateCancelRun, Args: []any{step.CancelRun{RunID: "r1"}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}, f.requests[0].update)

	f = fake(outcome{value: step.AnswerResult{RunID: "r2"}})
	answered, err := clientOf(t, f, 0).Answer(context.Background(), "t1", "a-1", step.Answer{Text: "blue"})
	require.NoError(t, err)
	require.Equal(t, "r2", answered.RunID)
	require.Equal(t, step.UpdateAnswer, f.requests[0].update.UpdateName)

	f = fake(outcome{})
	require.NoError(t, clientOf(t, f, 0).Wake(context.Background(), "u1", "t1"))
	require.Equal(t, "thread/t1", f.requests[0].start.ID)
	require.Equal(t, step.ThreadWorkflow, f.requests[0].args[0])

	f = fake(outcome{})
	require.NoError(t, clientOf(t, f, 0).Stop(context.Background(), "t1"))
	require.Equal(t, []any{"thread/t1"}, f.requests[0].args)
}

func TestARequestIsRepeatedUnderItsId(t *testing.T) {
	t.Parallel()
	for name, passing := range map[string]outcome{
		"a busy server":                                         {err: errExhausted},
		"a busy server, told by the result":                     {get: errExhausted},
		"a workflow that continued":                             {get: errContinued},
		"a workflow task that failed":                           {err: errNotReady},
		"a workflow that completed while the run was submitted": {err: errClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fake(passing, passing, passing, outcome{value: step.SubmitResult{RunID: "r1", Duplicate: true}})
			out, err := clientOf(t, f, time.Minute).Submit(context.Background(), "u1", "t1", step.SubmitRun{RunID: "r1"})
			require.NoError(t, err)
			require.True(t, out.Duplicate)
			require.Len(t, f.requests, 4)
			for _, r := range f.requests {
				require.Equal(t, "submit-r1", r.update.UpdateID)
			}
			require.Equal(t, 1, f.probes)
		})
	}
	for _, passing := range []outcome{{err: errExhausted}, {get: errContinued}, {err: errNotReady}} {
		f := fake(passing, passing, outcome{value: step.CancelResult{RunID: "r1"}})
		_, err := clientOf(t, f, time.Minute).Cancel(context.Background(), "u1", "t1", "c-1", step.CancelRun{RunID: "r1"})
		require.NoError(t, err)
		require.Len(t, f.requests, 3)
		require.Equal(t, "c-1", f.requests[2].update.UpdateID)
	}
	f := fake(outcome{err: errExhausted}, outcome{})
	require.NoError(t, clientOf(t, f, time.Minute).Wake(context.Background(), "u1", "t1"))
	require.Len(t, f.requests, 2)
}

func TestTemporalThatIsAwayIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for name := range operations(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Known before anything is sent.
			f := fake(outcome{hang: true, err: errLate})
			f.health = []error{errAway}
			err := operations(clientOf(t, f, time.Minute))[name](context.Background())
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, "connection refused")
			require.ErrorContains(t, err, "t1")
			require.Empty(t, f.requests, "nothing was sent")

			// Lost between the probe and the request.
			f = fake(outcome{err: errAway})
			err = operations(clientOf(t, f, time.Minute))[name](context.Background())
			require.ErrorIs(t, err, ErrUnavailable)
			require.Len(t, f.requests, 1, "the SDK has repeated it already")
		})
	}
}

func TestAProbeThatSaysSomethingElseIsNoVerdict(t *testing.T) {
	t.Parallel()
	for _, odd := range []error{serviceerror.NewUnimplemented("no health service"), serviceerror.NewPermissionDenied("no", ""), errors.New("health check returned unhealthy status: NOT_SERVING")} {
		f := fake(outcome{value: step.SubmitResult{RunID: "r1"}})
		f.health = []error{odd}
		_, err := clientOf(t, f, time.Minute).Submit(context.Background(), "u1", "t1", step.SubmitRun{RunID: "r1"})
		require.NoError(t, err)
	}
}

func TestTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		out    outcome
		health []error
		want   error
		only   string // the operation it is about; all updates otherwise
	}{
		{name: "M14 no worker", out: outcome{hang: true, err: errLate}, want: ErrNoWorker},
		{name: "no worker for the result", out: outcome{hang: true, get: errLate}, want: ErrNoWorker},
		{name: "Temporal went away meanwhile", out: outcome{hang: true, err: errLate}, health: []error{nil, errAway}, want: ErrUnavailable},
		{name: "Temporal stands still", out: outcome{hang: true, err: errLate}, health: []error{nil, context.DeadlineExceeded}, want: ErrUnavailable},
		{name: "busy for all the time", out: outcome{err: errExhausted}, want: ErrUnavailable},
		{name: "continues for all the time", out: outcome{get: errContinued}, want: ErrUnavailable},
		{name: "fails its tasks for all the time", out: outcome{err: errNotReady}, want: ErrUnavailable},
		{name: "a start", out: outcome{hang: true, err: serviceerror.NewDeadlineExceeded("context deadline exceeded")}, want: ErrUnavailable, only: "wake"},
		{name: "a termination", out: outcome{hang: true, err: context.DeadlineExceeded}, want: ErrUnavailable, only: "stop"},
	} {
		names := []string{"submit", "cancel", "answer"}
		if tc.only != "" {
			names = []string{tc.only}
		}
		for _, name := range names {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := fake(tc.out)
				f.health = tc.health
				err := operations(clientOf(t, f, quick))[name](context.Background())
				require.ErrorIs(t, err, tc.want)
				require.NotEqual(t, errors.Is(err, ErrUnavailable), errors.Is(err, ErrNoWorker), "it is one of the two: %v", err)
				cause := tc.out.err
				if cause == nil {
					cause = tc.out.get
				}
				require.ErrorIs(t, err, cause, "the cause stays to be read")
			})
		}
	}
}

func TestACallersContextEndsARequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), quick)
	defer cancel()
	f := fake(outcome{err: errExhausted})
	_, err := clientOf(t, f, time.Hour).Submit(ctx, "u1", "t1", step.SubmitRun{RunID: "r1"})
	require.ErrorIs(t, err, ErrUnavailable)

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	f = fake(outcome{err: errExhausted})
	_, err = clientOf(t, f, time.Hour).Submit(ended, "u1", "t1", step.SubmitRun{RunID: "r1"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.Len(t, f.requests, 1)
}

func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{step.ErrBusy, step.ErrNotCancellable, step.ErrUnknownRun, step.ErrNoQuestion, step.ErrInvalid, step.ErrRunRefused, step.ErrThreadGone} {
		refusal := temporal.NewNonRetryableApplicationError("Thread t1 already has an active run", kind, nil)
		for _, out := range []outcome{{err: refusal}, {get: refusal}} {
			for _, name := range []string{"submit", "cancel", "answer"} {
				f := fake(out)
				err := operations(clientOf(t, f, time.Minute))[name](context.Background())
				var refused *RefusedError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, RefusedError{Type: kind, Reason: "Thread t1 already has an active run"}, *refused)
				require.Len(t, f.requests, 1, "a refusal is not repeated")
				require.NotErrorIs(t, err, ErrUnavailable)
			}
		}
	}
}

func TestAThreadWithoutAWorkflow(t *testing.T) {
	t.Parallel()
	gone := outcome{err: serviceerror.NewNotFound("workflow not found for ID: thread/t1")}
	var refused *RefusedError
	require.ErrorAs(t, operations(clientOf(t, fake(gone), time.Minute))["answer"](context.Background()), &refused)
	require.Equal(t, step.ErrNoQuestion, refused.Type)
	require.Contains(t, refused.Reason, "no workflow")
	require.NoError(t, clientOf(t, fake(gone), time.Minute).Stop(context.Background(), "t1"), "nothing to stop is fine")
	for _, name := range []string{"submit", "cancel"} {
		f := fake(gone)
		err := operations(clientOf(t, f, quick))[name](context.Background())
		require.ErrorIs(t, err, ErrUnavailable, "a %s starts its workflow, so it is never refused for want of one", name)
		require.Greater(t, len(f.requests), 1)
	}
}

func TestOtherErrorsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, odd := range []error{
		temporal.NewApplicationError("unknown update", "Strange"),
		serviceerror.NewNamespaceNotFound("nowhere"),
		serviceerror.NewInvalidArgument("no"),
		errors.New("strange"),
	} {
		for name, call := range operations(clientOf(t, fake(outcome{err: odd}), time.Minute)) {
			err := call(context.Background())
			require.ErrorIs(t, err, odd, name)
			require.NotErrorIs(t, err, ErrUnavailable)
			require.NotErrorIs(t, err, ErrNoWorker)
			var refused *RefusedError
			require.NotErrorAs(t, err, &refused)
		}
	}
}

func TestWakeStartsWhatNobodyWorksOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		last    enumspb.WorkflowExecutionStatus
		starts  bool
		stopped bool
	}{
		{enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, true, false}, // there is none
		{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false, false},
		{enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, true, false},
		{enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, true, false},
		{enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, true, true},
		{enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, true, true},
	} {
		f := fake(outcome{})
		f.last = tc.last
		require.NoError(t, clientOf(t, f, 0).Wake(context.Background(), "u1", "t1"))
		if !tc.starts {
			require.Empty(t, f.requests, tc.last)
			continue
		}
		require.Len(t, f.requests, 1, tc.last)
		input, ok := f.requests[0].args[1].(step.ThreadInput)
		require.True(t, ok)
		require.Equal(t, tc.stopped, input.Stopped, "what a person has ended is not taken up: %s", tc.last)
	}
}
