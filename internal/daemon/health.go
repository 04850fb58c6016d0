package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
)

// probeTime bounds one look at another part.
const probeTime = 2 * time.Second

// frontend tells whether Temporal answers, for the namespace in use.
type frontend struct {
	temporal  client.Client
	namespace string
	known     atomic.Bool // the namespace was there; it does not go away
}

func (f *frontend) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if _, err := f.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	if f.known.Load() {
		return nil
	}
	if err := namespaceExists(ctx, f.temporal, f.namespace); err != nil {
		return err
	}
	f.known.Store(true)
	return nil
}

const (
	// crewEvery is how long an answer about workers is good for.
	crewEvery = 3 * time.Second
	// crewAge is how long ago a living worker asked for work at most: its polls
	// last for a minute.
	crewAge = 75 * time.Second
)

// errNoWorker says that nobody is there to do the work.
var errNoWorker = errors.New("no worker asks for work on the task queue " + step.TaskQueue + ": start one with 'deerflow worker'")

// crewWatch tells whether a worker polls the task queue.
type crewWatch struct {
	temporal client.Client

	mu   sync.Mutex
	err  error
	next time.Time
}

// health is an [errNoWorker] when Temporal knows of no worker, and another error
// when it cannot be asked.
func (w *crewWatch) health(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.next) {
		return w.err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	w.err = w.look(ctx)
	w.next = time.Now().Add(crewEvery)
	return w.err
}

func (w *crewWatch) look(ctx context.Context) error {
	queue, err := w.temporal.DescribeTaskQueue(ctx, step.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return fmt.Errorf("ask Temporal for workers: %w", err)
	}
	for _, p := range queue.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < crewAge {
			return nil
		}
	}
	return errNoWorker
}
