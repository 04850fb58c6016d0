package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// bootParallel bounds the requests that a boot makes at once.
const bootParallel = 8

// FailLost fails, with an error that is tried again at once, each activity that
// a dead process with this identity had started: nothing has to wait for its
// heartbeat to run out. It may only be called while no process with the identity
// lives. It returns how many there were.
func FailLost(ctx context.Context, c client.Client, namespace, identity string, threadIDs []string, log *slog.Logger) (int, error) {
	var failed atomic.Int64
	err := each(ctx, threadIDs, func(ctx context.Context, id string) error {
		n, err := failLostOf(ctx, c, namespace, identity, id, log)
		failed.Add(int64(n))
		return err
	})
	return int(failed.Load()), err
}

func failLostOf(ctx context.Context, c client.Client, namespace, identity, threadID string, log *slog.Logger) (int, error) {
	workflowID := thread.WorkflowID(threadID)
	d, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for lost activities of thread %s: %w", threadID, err)
	}
	lost := temporal.NewApplicationErrorWithOptions("the process that worked on this step is gone", step.ErrHostRestarted,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	n := 0
	for _, a := range d.GetPendingActivities() {
		if a.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED || a.GetLastWorkerIdentity() != identity {
			continue
		}
		runID := d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		if err := c.CompleteActivityByID(ctx, namespace, workflowID, runID, a.GetActivityId(), nil, lost); err != nil {
			// It ends by its heartbeat then, a few seconds later.
			log.Warn("A lost activity could not be failed", "thread", threadID, "activity", a.GetActivityId(), "error", err)
			continue
		}
		n++
	}
	return n, nil
}

// each calls f for every id, several at once, and joins the errors.
func each(ctx context.Context, ids []string, f func(ctx context.Context, id string) error) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	slots := make(chan struct{}, bootParallel)
	for _, id := range ids {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			if err := f(ctx, id); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}
