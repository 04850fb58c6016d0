package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestHeldThreads(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		begin := func(threadID, runID string, version int) {
			f.submit(threadID, runID, "question?")
			_, err := f.StartRun(f.ctx, StartRun{Ref: ref(threadID, runID, 1), AssistantID: "lead_agent", LoopVersion: version, At: at})
			require.NoError(f.t, err)
		}
		end := func(threadID, runID string, status thread.Status) {
			in := commitInput(ref(threadID, runID, 2), 1, status)
			in.Ends = []thread.End{{RunID: runID, Status: thread.RunSuccess}}
			f.commit(in)
		}
		begin("runs", "r1", 2)
		begin("asks", "r2", 2)
		end("asks", "r2", thread.StatusInterrupted)
		begin("older", "r3", 1)
		begin("ended", "r4", 2)
		end("ended", "r4", thread.StatusIdle)
		f.submit("waits", "r5", "question?")

		held, err := f.HeldThreads(f.ctx, 1)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"asks", "runs"}, held)
		held, err = f.HeldThreads(f.ctx, 2)
		require.NoError(f.t, err)
		require.Empty(f.t, held)
		run, err := f.GetRun(f.ctx, "runs", "r1")
		require.NoError(f.t, err)
		require.Equal(f.t, 2, run.LoopVersion)
	})
}
