package zombies

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// The commit of a run stands still in its worker, which holds the thread's row;
// another worker makes the commit, and the thread goes on before the first one
// wakes.
func TestAFrozenCommitIsMadeOnce(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(testkit.Text("all is said", testkit.WithChunks(4), testkit.At(2, testkit.Hold(gate))))
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("say it"))
	require.NoError(t, err)
	defer live.Close()
	<-gate.Reached()
	b := newBarrier(t, p.url, "checkpoints", `true`)
	gate.Release()
	old, _ := p.atBarrier(b)
	old.Freeze()
	b.open()
	run, err := api.AwaitRun(ctx, id, live.RunID(), "success")
	require.NoError(t, err)
	goesOn(t, api, m, id)
	old.Thaw()
	m.On(testkit.LastUser("once more")).Always(testkit.Text("once more it is"))
	_, err = api.WaitRun(ctx, id, testkit.SayWatched("once more"))
	require.NoError(t, err)
	var followed screen
	followed.toEnd(ctx, t, live)
	sameForAll(t, api, id, run.RunID, []string{"all is said"}, &followed)
	require.Equal(t, []string{
		"human: say it", "ai: all is said", "human: and on it goes", "ai: on it goes", "human: once more", "ai: once more it is",
	}, shape(messages(t, api, id)))
	oneLine(t, api, id)
}

// oneLine checks that every checkpoint of a thread follows the one before it.
func oneLine(t *testing.T, api *testkit.API, threadID string) {
	t.Helper()
	history, err := api.History(patient(t), threadID, 100)
	require.NoError(t, err)
	require.NotEmpty(t, history)
	for i, state := range history {
		want := ""
		if i+1 < len(history) {
			want = history[i+1].CheckpointID
		}
		require.Equal(t, want, state.ParentID, "checkpoint %d of %d", i, len(history))
	}
}
