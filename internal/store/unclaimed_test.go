package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// TestAStepWithoutAClaim completes its message once, and never one that a commit
// has closed.
func TestAStepWithoutAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t", "r", "question")
		f.start("t", "r", 0)
		free := Owner{Ref: ref("t", "r", 1), MessageID: thread.MessageID("r", 1)}
		require.Equal(f.t, "first", f.finish(free, 1, "first").Message.Content.String())
		require.Equal(f.t, "first", f.finish(free, 1, "second").Message.Content.String(), "what the row holds decides")

		sealed := Owner{Ref: ref("t", "r", 2), MessageID: thread.MessageID("r", 2)}
		in := commitInput(ref("t", "r", 3), 2, thread.StatusIdle)
		in.Seals = []step.Seal{{MessageID: sealed.MessageID, Pos: 2, Stream: true}}
		f.commit(in)
		_, err := f.Finish(f.ctx, sealed, NewRow{Pos: 2, Message: ai(sealed.MessageID, "too late")})
		require.ErrorIs(f.t, err, ErrFenced)
	})
}

// TestACommitRidesOnAClaim: both are one transaction, and a repeat commits
// nothing again.
func TestACommitRidesOnAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t", "r", "question")
		f.start("t", "r", 0)
		in := commitInput(ref("t", "r", 1), 1, thread.StatusBusy)
		for want := 1; want < 3; want++ {
			got, err := f.Claim(f.ctx, Claim{Ref: ref("t", "r", 2), MessageID: "m", Commit: &in})
			require.NoError(f.t, err)
			require.Equal(f.t, want, got.Claim)
			require.Equal(f.t, 1, f.count("checkpoints"))
		}
	})
}
