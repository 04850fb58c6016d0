package zombies

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// The workflow is terminated by hand while its worker is frozen in the middle of
// a stream; the thread is rebuilt, ends the run, and goes on. Then the old worker
// wakes.
func TestAFrozenStreamOfATerminatedWorkflow(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(gate))))
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	var followed screen
	followed.until(ctx, t, live, "the old attempt goes")
	<-gate.Reached()
	old, _ := p.streaming(m)
	old.Freeze()
	require.NoError(t, dial(t, p.Temporal.Addr).TerminateWorkflow(ctx, thread.WorkflowID(id), "", "by hand"))
	_, err = api.AwaitRun(ctx, id, live.RunID(), "interrupted")
	require.NoError(t, err)
	kept := messages(t, api, id)[1].Text()
	require.Contains(t, kept, "the old attempt goes", "what was shown stays")
	goesOn(t, api, m, id)
	old.Thaw()
	gate.Release()
	select {
	case <-m.Requests()[0].Done():
	case <-ctx.Done():
		t.Fatal("the old request does not end")
	}
	m.On(testkit.LastUser("once more")).Always(testkit.Text("once more it is"))
	_, err = api.WaitRun(ctx, id, testkit.SayWatched("once more"))
	require.NoError(t, err)
	followed.toEnd(ctx, t, live)
	require.Equal(t, kept, messages(t, api, id)[1].Text(), "the old attempt adds nothing")
	require.Len(t, messages(t, api, id), 6)
	oneLine(t, api, id)
}

// Temporal's database is lost while the old worker is frozen in the second turn
// of a run. The thread is rebuilt from its checkpoint and does the turn again;
// then the old worker wakes.
func TestAFrozenStreamWhileTemporalLosesItsDatabase(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.ToolCalls(call("ls", map[string]any{"path": "/mnt/user-data"})),
		testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(gate))),
		testkit.Text(newText, testkit.WithChunks(20)),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	var followed screen
	followed.until(ctx, t, live, "the old attempt goes")
	<-gate.Reached()
	old, idle := p.streaming(m)
	old.Freeze()
	p.Temporal.Kill9()
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(p.DataDir), "temporal")))
	p.Temporal.Start()
	idle.Kill9()
	idle.Start()
	_, err = api.AwaitRun(ctx, id, live.RunID(), "success")
	require.NoError(t, err)
	old.Thaw()
	gate.Release()
	select {
	case <-m.Requests()[1].Done():
	case <-ctx.Done():
		t.Fatal("the old request does not end")
	}
	goesOn(t, api, m, id)
	followed.toEnd(ctx, t, live)
	sameForAll(t, api, id, live.RunID(), []string{"", newText}, &followed)
	require.Len(t, m.Requests(), 4, "what was answered was not asked again")
	oneLine(t, api, id)
}
