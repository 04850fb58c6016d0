package sandbox

import (
	"context"
	"errors"
	"maps"
)

// Preparer is a sandbox whose machine takes time to come up. Prepare brings it up,
// so that a command that comes next fails for no other reason than its own. An
// error is an [UnreachableError] or the context's.
type Preparer interface {
	Prepare(ctx context.Context) error
}

// machineRunner is a [Runner] that keeps a machine for each thread.
type machineRunner interface {
	Prepare(ctx context.Context, j Job) error
}

var _ Preparer = (*local)(nil)

// Prepare brings up the machine of a runner that has one.
func (l *local) Prepare(ctx context.Context) error {
	r, ok := l.provider.runner.(machineRunner)
	if !ok {
		return nil
	}
	err := r.Prepare(ctx, Job{
		User: l.user, Thread: l.thread, Dir: Workspace, Mounts: l.paths.all(), Env: maps.Clone(l.provider.options.Environ),
		Timeout: l.provider.options.BashTimeout,
	})
	var refused *CommandError
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.As(err, &refused) {
		return ctx.Err() // a refusal is the command's own to tell
	}
	return l.unreachable(err)
}

// unreachable says why the machine cannot be had, without paths of this host.
func (l *local) unreachable(err error) error {
	var away *UnreachableError
	if errors.As(err, &away) {
		err = away.Err
	}
	return &UnreachableError{Err: errors.New(l.Mask(err.Error()))}
}
