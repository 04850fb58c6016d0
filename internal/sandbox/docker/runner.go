package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/pool"
)

// closeTimeout bounds the ending of all containers.
const closeTimeout = 20 * time.Second

// errLost: the container is not there any more, and the command did not start.
var errLost = errors.New("the container is gone")

// Prepare makes the container of a job if there is none. Where there is one, it sees
// whether the engine still answers.
func (r *Runner) Prepare(ctx context.Context, j sandbox.Job) error {
	lease, err := r.lease(ctx, j)
	if err != nil {
		return err
	}
	defer lease.Done()
	if lease.Made {
		return nil
	}
	_, err = r.docker.ContainerInspect(ctx, lease.Machine.id, client.ContainerInspectOptions{})
	if err != nil && !errdefs.IsNotFound(err) { // one that is gone is made anew when the command finds it so
		return fmt.Errorf("look for the container: %w", err)
	}
	return nil
}

// lease gets the container of a job. One of an earlier process is looked at first.
func (r *Runner) lease(ctx context.Context, j sandbox.Job) (*pool.Lease[*machine], error) {
	lease, err := r.pool.Use(ctx, r.container(j), r.maker(j))
	if err != nil {
		return nil, err
	}
	if lease.Machine.adopted {
		if err := lease.Replace(ctx, r.maker(j)); err != nil {
			lease.Done()
			return nil, err
		}
	}
	return lease, nil
}

func (r *Runner) maker(j sandbox.Job) func(context.Context) (*machine, error) {
	return func(ctx context.Context) (*machine, error) { return r.up(ctx, j) }
}

// Run runs a command. A container that is found gone before the command started is
// made anew, once, and the model is told.
func (r *Runner) Run(ctx context.Context, j sandbox.Job) (sandbox.ExecResult, error) {
	lease, err := r.lease(ctx, j)
	if err != nil {
		return sandbox.ExecResult{}, &sandbox.UnreachableError{Err: err}
	}
	defer lease.Done()
	result, err := r.exec(ctx, lease.Machine, j)
	if errors.Is(err, errLost) {
		if err := lease.Replace(ctx, r.maker(j)); err != nil {
			return result, &sandbox.UnreachableError{Err: fmt.Errorf("make the container anew: %w", err)}
		}
		result, err = r.exec(ctx, lease.Machine, j)
	}
	if err == nil && lease.Machine.remade.CompareAndSwap(true, false) {
		result.Notice = sandbox.Remade
	}
	return result, err
}

// Remove removes the container of a thread.
func (r *Runner) Remove(ctx context.Context, user, threadID string) error {
	name := r.containerOf(user, threadID)
	if err := r.pool.Remove(ctx, name); err != nil {
		return err
	}
	// It may be one that this process has never used.
	return r.remove(ctx, name)
}

// Close ends the containers.
func (r *Runner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	r.pool.Close(ctx)
	return r.docker.Close()
}
