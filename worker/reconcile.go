package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

// Reconciler brings Temporal in line with the store, which is right where the
// two differ: a run that was acknowledged but never reached its thread is
// submitted again, a thread whose workflow is gone is started from its
// checkpoint. All of it is harmless when there is nothing to do.
type Reconciler struct {
	Store   *store.Store
	Threads *threadclient.Client
	Logger  *slog.Logger
}

// Period and age of the reconciler's rounds: a younger run is most likely on
// its way.
const (
	reconcileEvery = 30 * time.Second
	reconcileAge   = 15 * time.Second
)

// Boot reconciles all threads that have something to go on with.
func (r *Reconciler) Boot(ctx context.Context, threadIDs []string) error {
	pending, err := r.Store.PendingRuns(ctx)
	if err != nil {
		return fmt.Errorf("list pending runs: %w", err)
	}
	for _, run := range pending {
		if !slices.Contains(threadIDs, run.ThreadID) {
			threadIDs = append(threadIDs, run.ThreadID)
		}
	}
	return each(ctx, threadIDs, r.thread)
}

// Run reconciles from time to time, until the context ends: runs that are
// pending for long, and threads that are being worked on without a workflow.
func (r *Reconciler) Run(ctx context.Context) {
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := r.round(ctx, time.Now().Add(-reconcileAge)); err != nil && ctx.Err() == nil {
			r.Logger.Warn("Runs could not be looked after; it is tried again", "error", err)
		}
	}
}

func (r *Reconciler) round(ctx context.Context, before time.Time) error {
	pending, err := r.Store.PendingRuns(ctx)
	if err != nil {
		return fmt.Errorf("list pending runs: %w", err)
	}
	for _, run := range pending {
		if run.CreatedAt.Before(before) {
			if err := r.resubmit(ctx, run); err != nil {
				return err
			}
		}
	}
	active, err := r.Store.ActiveThreads(ctx)
	if err != nil {
		return fmt.Errorf("list active threads: %w", err)
	}
	return each(ctx, active, r.wake)
}

// wake starts the workflow of a thread from its checkpoint, if none runs.
func (r *Reconciler) wake(ctx context.Context, id string) error {
	t, err := r.Store.GetThread(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reconcile thread %s: %w", id, err)
	}
	if t.CheckpointID == "" || t.Status == thread.StatusIdle {
		return nil
	}
	return r.Threads.Wake(ctx, t.User, id)
}

// thread starts the workflow of one thread, if none runs, and submits what it
// may not know of, oldest first.
func (r *Reconciler) thread(ctx context.Context, id string) error {
	if err := r.wake(ctx, id); err != nil {
		return err
	}
	var live []store.Run
	for _, status := range []thread.RunStatus{thread.RunRunning, thread.RunPending} {
		runs, err := r.Store.ListRuns(ctx, id, store.RunQuery{Status: status, Limit: 1000})
		if err != nil {
			return fmt.Errorf("list the %s runs of thread %s: %w", status, id, err)
		}
		slices.Reverse(runs)
		live = append(live, runs...)
	}
	for _, run := range live {
		if err := r.resubmit(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) resubmit(ctx context.Context, run store.Run) error {
	// A run that the thread made itself has no submission; its messages are in
	// the transcript since it started.
	submit := step.SubmitRun{RunID: run.ID, Options: run.Options, Multitask: thread.MultitaskEnqueue}
	if len(run.Submit) > 0 {
		if err := json.Unmarshal(run.Submit, &submit); err != nil {
			return fmt.Errorf("read the submission of run %s: %w", run.ID, err)
		}
	}
	out, err := r.Threads.Submit(ctx, run.User, run.ThreadID, submit)
	var refused *threadclient.RefusedError
	switch {
	case errors.As(err, &refused) && run.Status == thread.RunPending:
		// Nobody was told that it had been taken.
		r.Logger.Warn("A run that was never acknowledged is withdrawn", "run", run.ID, "thread", run.ThreadID, "reason", refused.Reason)
		return r.Store.WithdrawRun(ctx, run.ThreadID, run.ID)
	case err != nil:
		return err
	case !out.Duplicate:
		r.Logger.Debug("A run was submitted again", "run", run.ID, "thread", run.ThreadID)
	}
	return nil
}
