package activities

import (
	"context"

	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Commit stores what a turn changed, on its own.
func (a *Activities) Commit(ctx context.Context, in step.CommitInput) (step.CommitResult, error) {
	failpoint.Here(failpoint.CommitBegun, in.Thread)
	out, err := a.o.Store.Commit(ctx, in, plainDigest)
	return out, border(ctx, "commit step of run "+in.Run, err)
}

// ride stores a commit that came with another step's input, before that step's
// own work.
func (a *Activities) ride(ctx context.Context, in *step.CommitInput) error {
	if in == nil {
		return nil
	}
	_, err := a.o.Store.Commit(ctx, *in, plainDigest)
	return border(ctx, "commit step of run "+in.Run, err)
}

// plainDigest needs no plan: a commit makes no message with tool calls.
func plainDigest(m *thread.Message, pos int64) thread.Digest {
	return (&agent.Plan{}).DigestOf(m, pos)
}
