package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"

	"deerflow/activities"
	"deerflow/internal/store"
	"deerflow/internal/threadclient"
	"deerflow/internal/tools/web"
	"deerflow/worker"
)

// stickyTimeout is how long a workflow waits for the process that has it in
// memory, which may be gone.
const stickyTimeout = 2 * time.Second

// duty is what a worker works with.
type duty struct {
	temporal  client.Client
	namespace string
	store     *store.Store
	threads   *threadclient.Client
	identity  string
	// sole: no living process but this one has the identity, so what was begun
	// under it is lost.
	sole bool
	// shared: APIs in other processes go on meanwhile.
	shared bool
}

// work starts the worker and goes on with what dead processes left.
func (d *Daemon) work(ctx context.Context, w duty) error {
	boxes, err := d.openSandboxes(ctx)
	if err != nil {
		return err
	}
	converter, err := d.converter()
	if err != nil {
		return err
	}
	acts, err := activities.New(activities.Options{
		Store: w.store, Config: d.source.Current, Sandboxes: boxes, Logger: d.log,
		UsersDir: filepath.Join(d.dataDir, usersDir), Documents: converter,
		Web: web.NewClient(web.ClientOptions{Documents: pageDocuments{converter}}),
	})
	if err != nil {
		return err
	}
	active, err := w.store.ActiveThreads(ctx)
	if err != nil {
		return fmt.Errorf("look for threads that were being worked on: %w", err)
	}
	lost := 0
	if w.sole {
		lost, err = worker.FailLost(ctx, w.temporal, w.namespace, w.identity, active, d.log)
		if err != nil && !w.shared {
			return err
		}
		if err != nil {
			d.log.Warn("Not all lost activities could be failed; they end by their heartbeats", "error", err)
		}
	}
	crew := worker.New(worker.Options{
		Temporal: w.temporal, Activities: acts, StopTimeout: workerStopTime, StickyTimeout: stickyTimeout,
		OnFatal: func(err error) { d.fail(fmt.Errorf("the worker gave up: %w", err)) },
	})
	if err := crew.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	d.later(crew.Stop)
	if len(active) > 0 {
		d.log.Info("Going on with threads of the process before", "threads", len(active), "lost_activities", lost)
	}
	return d.reconcile(ctx, &worker.Reconciler{Store: w.store, Threads: w.threads, Logger: d.log, Shared: w.shared}, active)
}

// reconcile submits what was never taken, now and from time to time.
func (d *Daemon) reconcile(ctx context.Context, r *worker.Reconciler, active []string) error {
	err := r.Boot(ctx, active)
	if err != nil && r.Shared && ctx.Err() == nil {
		// One of many workers is of more use with half of it done.
		d.log.Warn("Not all threads of the processes before could be looked after; it is tried again", "error", err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("go on with the threads of the process before: %w", err)
	}
	d.inBackground(ctx, r.Run)
	return nil
}
