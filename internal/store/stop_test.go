package store

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestAStopIsNotedInTheSubmission(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		t, s := f.t, f.Store
		submit, err := json.Marshal(step.SubmitRun{RunID: "r", Messages: 1, Multitask: thread.MultitaskReject})
		require.NoError(t, err)
		_, _, err = s.SubmitRun(t.Context(), NewRun{
			Run:      Run{ID: "r", ThreadID: "t", User: "u", Submit: submit},
			Messages: []thread.Message{thread.Human("m", "hello")}, CreateThread: true,
		})
		require.NoError(t, err)
		noted := func() step.SubmitRun {
			run, err := s.GetRun(t.Context(), "t", "r")
			require.NoError(t, err)
			var out step.SubmitRun
			require.NoError(t, json.Unmarshal(run.Submit, &out))
			return out
		}
		for _, tc := range []struct{ ask, want thread.CancelAction }{
			{thread.CancelInterrupt, thread.CancelInterrupt},
			{thread.CancelRollback, thread.CancelRollback},
			{thread.CancelInterrupt, thread.CancelRollback},
		} {
			require.NoError(t, s.NoteStop(t.Context(), "t", "r", tc.ask))
			require.Equal(t, step.SubmitRun{RunID: "r", Messages: 1, Multitask: thread.MultitaskReject, Stopped: tc.want}, noted())
		}
		require.NoError(t, s.NoteStop(t.Context(), "t", "no such run", thread.CancelInterrupt))
		require.ErrorIs(t, s.NoteStop(t.Context(), "no such thread", "r", thread.CancelInterrupt), ErrThreadGone)
	})
}
