package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// maxGroup is how many jobs share a transaction at most.
const maxGroup = 64

// States of a job. Whoever moves it out of waiting decides its fate.
const (
	jobWaiting int32 = iota
	jobStarted
	jobAbandoned
)

// job is one unit of work in the queue of the writer.
type job struct {
	ctx   context.Context // of the caller; the work itself is never cut short
	do    work
	state atomic.Int32
	done  chan error // one result
}

// start takes the job up, unless its caller has given up.
func (j *job) start() error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if !j.state.CompareAndSwap(jobWaiting, jobStarted) {
		return context.Canceled
	}
	return nil
}

// writer is the one goroutine that writes to the SQLite file. Jobs that wait
// while it commits share the next transaction, each in a savepoint of its own,
// so that a sync to disk is paid once for all of them.
type writer struct {
	conn     *prepared
	clock    *clock
	onEvents func(threadID string, events []Event)
	jobs     chan *job
	quit     chan struct{}
	stopped  chan struct{}
	commits  atomic.Int64 // transactions, for benchmarks
}

func newWriter(ctx context.Context, conn *prepared, c *clock, onEvents func(string, []Event)) *writer {
	w := &writer{
		conn: conn, clock: c, onEvents: onEvents,
		jobs: make(chan *job, maxGroup), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.loop(context.WithoutCancel(ctx))
	return w
}

// do queues work and waits for its transaction. When ctx ends before the work
// has started, it never will; once it has started, its outcome is waited for.
func (w *writer) do(ctx context.Context, do work) error {
	j := &job{ctx: ctx, do: do, done: make(chan error, 1)}
	select {
	case <-w.quit:
		return ErrClosed
	default:
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobWaiting, jobAbandoned) {
			return ctx.Err()
		}
	case <-w.stopped:
	}
	select {
	case err := <-j.done:
		return err
	case <-w.stopped:
	}
	select {
	case err := <-j.done:
		return err
	default:
		return ErrClosed
	}
}

// close lets the queued jobs finish and stops the goroutine.
func (w *writer) close() {
	close(w.quit)
	<-w.stopped
}

func (w *writer) loop(ctx context.Context) {
	defer close(w.stopped)
	for {
		select {
		case j := <-w.jobs:
			w.commit(ctx, w.gather(j))
			continue
		case <-w.quit:
		}
		select {
		case j := <-w.jobs:
			w.commit(ctx, w.gather(j))
		default:
			return
		}
	}
}

// gather takes what waits already; it never waits for more.
func (w *writer) gather(first *job) []*job {
	group := []*job{first}
	for len(group) < maxGroup {
		select {
		case j := <-w.jobs:
			group = append(group, j)
		default:
			return group
		}
	}
	return group
}

// commit runs a group of jobs in one transaction, tells who listens, then
// answers the callers.
func (w *writer) commit(ctx context.Context, group []*job) {
	if _, err := w.conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		for _, j := range group {
			j.done <- fmt.Errorf("begin to write: %w", err)
		}
		return
	}
	txs := make([]*tx, len(group))
	errs := make([]error, len(group))
	var failed error // the transaction as a whole
	for i, j := range group {
		if failed != nil {
			break
		}
		if errs[i] = j.start(); errs[i] != nil {
			continue
		}
		txs[i] = &tx{querier: w.conn, now: w.clock.now()}
		errs[i], failed = w.step(ctx, j, txs[i])
	}
	if failed == nil {
		if _, err := w.conn.exec(ctx, "COMMIT"); err != nil {
			failed = fmt.Errorf("commit: %w", err)
		}
		w.commits.Add(1)
	}
	if failed != nil {
		// The database may have rolled back already; then this fails, rightly.
		_, _ = w.conn.exec(ctx, "ROLLBACK")
	}
	for i, j := range group {
		if errs[i] == nil {
			errs[i] = failed
		}
		if errs[i] == nil && w.onEvents != nil && len(txs[i].events) > 0 {
			w.onEvents(txs[i].thread, txs[i].events)
		}
		j.done <- errs[i]
	}
}

// step runs one job within a savepoint, so that its failure leaves the others
// alone; failed says that the transaction is lost.
func (w *writer) step(ctx context.Context, j *job, t *tx) (err, failed error) {
	if _, err := w.conn.exec(ctx, "SAVEPOINT job"); err != nil {
		return nil, fmt.Errorf("open savepoint: %w", err)
	}
	if err = t.run(ctx, j.do); err != nil {
		if _, back := w.conn.exec(ctx, "ROLLBACK TO job"); back != nil {
			return err, errors.Join(err, fmt.Errorf("roll back to savepoint: %w", back))
		}
	}
	if _, failed = w.conn.exec(ctx, "RELEASE job"); failed != nil {
		return err, fmt.Errorf("release savepoint: %w", failed)
	}
	return err, nil
}
