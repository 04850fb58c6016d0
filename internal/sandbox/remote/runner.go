package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/pool"
)

// Bounds of what comes beside a command.
const (
	copyTimeout    = 5 * time.Minute  // of one copy to or from a machine
	refreshTimeout = 20 * time.Second // of one that a file tool waits for
	refreshPause   = time.Second      // between two of them
	closeTimeout   = 20 * time.Second
)

// Runner runs commands on other machines.
type Runner struct {
	o           Options
	http        *http.Client
	provisioner *provisioner
	pool        *pool.Pool[*machine]
	files       *sandbox.Local // set before the first command
}

var _ sandbox.Runner = (*Runner)(nil)

func newRunner(o Options) (*Runner, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	r := &Runner{o: o, http: newHTTPClient()}
	limits := pool.Options[*machine]{End: r.end, Logger: o.Logger}
	if o.provisioned() {
		r.provisioner = &provisioner{base: o.ProvisionerURL, key: o.ProvisionerKey, http: r.http}
		limits.Idle, limits.Max = o.Idle, o.Replicas
	}
	r.pool = pool.New(limits)
	return r, nil
}

// Name is "remote".
func (*Runner) Name() string { return "remote" }

// HostPaths is false: machines have their files where sandboxes have them. One that is
// shared by threads gets its paths put into the command here.
func (*Runner) HostPaths() bool { return false }

// Notes say what another machine means.
func (*Runner) Notes() string {
	return fmt.Sprintf("- Commands run on another machine, one at a time. The files under `/mnt/user-data` are copied to and fro, those of up to %d MiB and without installed dependencies (such as `node_modules`); the rest of the machine is kept between commands and lost when it has not been used for a while.", maxFile>>20)
}

func (r *Runner) lease(ctx context.Context, j sandbox.Job) (*pool.Lease[*machine], error) {
	return r.pool.Use(ctx, sandbox.MachineID(j.User, j.Thread), r.maker(j))
}

func (r *Runner) maker(j sandbox.Job) func(context.Context) (*machine, error) {
	return func(ctx context.Context) (*machine, error) { return r.up(ctx, j) }
}

// Prepare brings up the machine of a job and gives it the files.
func (r *Runner) Prepare(ctx context.Context, j sandbox.Job) error {
	lease, err := r.lease(ctx, j)
	if err != nil {
		return err
	}
	defer lease.Done()
	return r.again(ctx, lease, j, func(m *machine) error {
		// A command that runs now has brought the files itself.
		select {
		case <-m.turn:
		default:
			return nil
		}
		defer m.release()
		return m.copy(ctx)
	})
}

// Run runs a command. A machine that is found gone before the command started is made
// anew, once, and the model is told.
func (r *Runner) Run(ctx context.Context, j sandbox.Job) (sandbox.ExecResult, error) {
	var result sandbox.ExecResult
	lease, err := r.lease(ctx, j)
	if err != nil {
		return result, refusal(&sandbox.UnreachableError{Err: err})
	}
	defer lease.Done()
	err = r.again(ctx, lease, j, func(m *machine) (err error) {
		result, err = m.run(ctx, j)
		return err
	})
	return result, refusal(err)
}

// again works on a machine, and once more on a new one when the first is found lost.
func (r *Runner) again(ctx context.Context, lease *pool.Lease[*machine], j sandbox.Job, work func(*machine) error) error {
	err := work(lease.Machine)
	if !errors.Is(err, errLost) {
		return err
	}
	if err := lease.Replace(ctx, r.maker(j)); err != nil {
		return &sandbox.UnreachableError{Err: fmt.Errorf("make the machine anew: %w", err)}
	}
	if err = work(lease.Machine); errors.Is(err, errLost) {
		return &sandbox.UnreachableError{Err: err}
	}
	return err
}

// refusal takes what is wrapped around a refusal away: it is for the model to read.
func refusal(err error) error {
	var refused *sandbox.CommandError
	if errors.As(err, &refused) {
		return refused
	}
	return err
}

// refresh fetches what the machine of a thread has changed, if it is up and no command
// runs there.
func (r *Runner) refresh(ctx context.Context, user, threadID string) {
	if r.o.Mounted {
		return
	}
	lease, ok := r.pool.Find(sandbox.MachineID(user, threadID))
	if !ok {
		return
	}
	defer lease.Done()
	m := lease.Machine
	select {
	case <-m.turn:
	default:
		return
	}
	defer m.release()
	if time.Since(m.copied) < refreshPause {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	if err := m.copy(ctx); err != nil && ctx.Err() == nil {
		r.o.Logger.Warn("The files of a sandbox could not be looked after; file tools work with the last copy", "sandbox", m.id, "error", err)
	}
}

// Remove ends the machine of a thread that is deleted.
func (r *Runner) Remove(ctx context.Context, user, threadID string) error {
	id := sandbox.MachineID(user, threadID)
	if err := r.pool.Remove(ctx, id); err != nil {
		return err
	}
	if r.provisioner == nil {
		return nil
	}
	// It may be one that this process has never used.
	return r.provisioner.remove(ctx, id)
}

// end ends a machine. On Close provisioned machines stay: other workers use them, and
// the next process finds them by their ids.
func (r *Runner) end(ctx context.Context, id string, m *machine, why pool.Reason) (bool, error) {
	switch {
	case r.provisioner == nil && why == pool.Removed:
		return true, m.forget(ctx)
	case r.provisioner == nil || why == pool.Closing:
		return true, m.closeSession(ctx)
	}
	if !r.o.Mounted {
		if err := m.copy(ctx); err != nil {
			r.o.Logger.Warn("A sandbox ends without a last copy of its files", "sandbox", id, "error", err)
		}
	}
	return true, r.provisioner.remove(ctx, id)
}

// Close ends the sessions of this process.
func (r *Runner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	r.pool.Close(ctx)
	r.http.CloseIdleConnections()
	return nil
}
