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
	"deerflow/workflows"
)

// Reconciler brings Temporal in line with the store, which is right where the
// two differ: a run that was acknowledged but never reached its thread is
// submitted again, a thread whose workflow is gone is started from its
// checkpoint. All of it is harmless when there is nothing to do.
type Reconciler struct {
	Store   *store.Store
	Threads *threadclient.Client
	Logger  *slog.Logger
	// Shared: other processes take requests meanwhile. A young run that its
	// thread refuses is theirs to withdraw, since they may ask again.
	Shared bool

	told map[string]bool // threads that wait for a newer program; the log has named them
}

// Periods and age of the reconciler's rounds: a younger run is most likely on
// its way. Threads are looked after less often, which asks Temporal for each.
const (
	reconcileEvery = 5 * time.Second
	wakeEvery      = 10 * time.Second
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
	if threadIDs, err = r.known(ctx, threadIDs); err != nil {
		return err
	}
	return each(ctx, threadIDs, r.thread)
}

// known leaves out the threads whose work a newer program has begun: that one
// starts them when it is back.
func (r *Reconciler) known(ctx context.Context, threadIDs []string) ([]string, error) {
	held, err := r.Store.HeldThreads(ctx, workflows.LoopVersion)
	if err != nil {
		return nil, fmt.Errorf("list the threads of a newer program: %w", err)
	}
	for _, id := range held {
		if !r.told[id] {
			r.Logger.Warn("A thread waits for a newer version of this program, which began its run; stop the run to use the thread before", "thread", id)
		}
	}
	r.told = map[string]bool{}
	for _, id := range held {
		r.told[id] = true
	}
	return slices.DeleteFunc(threadIDs, func(id string) bool { return r.told[id] }), nil
}

// Run reconciles from time to time, until the context ends: runs that are
// pending for long, and threads that are being worked on without a workflow.
func (r *Reconciler) Run(ctx context.Context) {
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	woken := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		look := r.old
		if now.Sub(woken) >= wakeEvery {
			woken, look = now, r.round
		}
		if err := look(ctx, now.Add(-reconcileAge)); err != nil && ctx.Err() == nil {
			r.Logger.Warn("Runs could not be looked after; it is tried again", "error", err)
		}
	}
}

func (r *Reconciler) round(ctx context.Context, before time.Time) error {
	if err := r.old(ctx, before); err != nil {
		return err
	}
	active, err := r.Store.ActiveThreads(ctx)
	if err != nil {
		return fmt.Errorf("list active threads: %w", err)
	}
	if active, err = r.known(ctx, active); err != nil {
		return err
	}
	return each(ctx, active, r.wake)
}

// old submits the runs that are pending since before a time.
func (r *Reconciler) old(ctx context.Context, before time.Time) error {
	pending, err := r.Store.PendingRuns(ctx)
	if err != nil {
		return fmt.Errorf("list pending runs: %w", err)
	}
	for _, run := range pending {
		if run.CreatedAt.Before(before) && !r.told[run.ThreadID] {
			if err := r.resubmit(ctx, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// wake starts the workflow of a thread that is being worked on, if none runs. It
// goes on from its checkpoint, and with the runs that had started.
func (r *Reconciler) wake(ctx context.Context, id string) error {
	t, err := r.Store.GetThread(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reconcile thread %s: %w", id, err)
	}
	return r.Threads.Wake(ctx, t.User, id)
}

// thread starts the workflow of one thread, if none runs, and submits what it
// may not know of, oldest first.
func (r *Reconciler) thread(ctx context.Context, id string) error {
	active, err := r.Store.ListRuns(ctx, id, store.RunQuery{Status: thread.RunPending, Limit: 1000})
	if err != nil {
		return fmt.Errorf("list the pending runs of thread %s: %w", id, err)
	}
	if err := r.wake(ctx, id); err != nil {
		return err
	}
	slices.Reverse(active)
	for _, run := range active {
		if err := r.resubmit(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) resubmit(ctx context.Context, run store.Run) error {
	var submit step.SubmitRun
	if err := json.Unmarshal(run.Submit, &submit); err != nil {
		return fmt.Errorf("read the submission of run %s: %w", run.ID, err)
	}
	// An update of its own: the answer that an earlier one got may be that of a
	// workflow which is gone.
	submit.Again = int(time.Now().UnixMilli())
	out, err := r.Threads.Submit(ctx, run.User, run.ThreadID, submit)
	var refused *threadclient.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Type == step.ErrCrowded:
		return nil // it was acknowledged, and is taken when there is room
	case errors.As(err, &refused) && refused.Type == step.ErrNewer:
		return nil // it waits behind the run of a newer program
	case errors.As(err, &refused):
		return r.withdraw(ctx, run, refused.Reason)
	case err != nil:
		return err
	case !out.Duplicate:
		r.Logger.Debug("A run was submitted again", "run", run.ID, "thread", run.ThreadID)
	}
	return nil
}

// withdraw takes a refused run back: nobody was told that it had been taken.
func (r *Reconciler) withdraw(ctx context.Context, run store.Run, reason string) error {
	if r.Shared && time.Since(run.CreatedAt) < reconcileAge {
		return nil
	}
	r.Logger.Warn("A run that was never acknowledged is withdrawn", "run", run.ID, "thread", run.ThreadID, "reason", reason)
	err := r.Store.WithdrawRun(ctx, run.ThreadID, run.ID)
	if errors.Is(err, store.ErrNotPending) {
		return nil // it was taken up after all
	}
	return err
}
