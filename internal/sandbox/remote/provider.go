package remote

import (
	"context"
	"fmt"

	"deerflow/internal/sandbox"
)

// Provider hands out sandboxes whose files are here and whose commands run on other
// machines.
type Provider struct {
	*sandbox.Local
	runner *Runner
}

var _ sandbox.Provider = (*Provider)(nil)

// New makes a provider. The options of the files are those of a local sandbox; the
// runner in them is replaced. Nobody is asked whether he is there: machines may come
// up later.
func New(o Options, files sandbox.LocalOptions) (*Provider, error) {
	r, err := newRunner(o)
	if err != nil {
		return nil, err
	}
	files.Runner = r
	local, err := sandbox.NewLocal(files)
	if err != nil {
		return nil, fmt.Errorf("remote sandbox: %w", err)
	}
	r.files = local
	if r.o.shared() {
		r.o.Logger.Warn("All threads share one machine: commands of one can read the files of another", "sandbox", "remote")
	}
	return &Provider{Local: local, runner: r}, nil
}

// Acquire gives the sandbox of a thread. When its machine is up, what the machine has
// changed since the last call is fetched; a machine that does not answer does not
// hold up file tools.
func (p *Provider) Acquire(ctx context.Context, user, threadID string) (sandbox.Sandbox, error) {
	box, err := p.Local.Acquire(ctx, user, threadID)
	if err != nil {
		return nil, err
	}
	p.runner.refresh(ctx, sandbox.UserDir(user), threadID)
	return box, nil
}
