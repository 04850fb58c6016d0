package activities

import (
	"context"

	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

// Commit stores what a turn changed, on its own.
func (a *Activities) Commit(ctx context.Context, in step.CommitInput) (step.CommitResult, error) {
	stampSeals(in.Seals)
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
	stampSeals(in.Seals)
	_, err := a.o.Store.Commit(ctx, *in, plainDigest)
	return border(ctx, "commit step of run "+in.Run, err)
}

// stampSeals says of results that a stop made what they mean for the loop, as
// every other result says it.
func stampSeals(seals []step.Seal) {
	for i := range seals {
		m := &seals[i].Fallback
		if m.Role == thread.RoleTool && m.AdditionalKwargs[tools.KeyMeta] == nil {
			m.SetKwarg(tools.KeyMeta, tools.Classify(m.Name, tools.SourceException, tools.Result{Text: m.Content.String(), Error: m.Status == thread.ToolError}))
		}
	}
}

// plainDigest needs no plan: a commit makes no message with tool calls.
func plainDigest(m *thread.Message, pos int64) thread.Digest {
	return (&agent.Plan{}).DigestOf(m, pos)
}
