package zombies

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// atBarrier finds the worker that stands at a barrier.
func (p *pair) atBarrier(b *barrier) (working, idle *testkit.Part) {
	p.t.Helper()
	return p.at(func(pid int) bool {
		return slices.ContainsFunc(b.waiting(), func(port int) bool { return testkit.ConnectedFrom(pid, port) })
	})
}

func call(name string, args map[string]any) testkit.Call {
	args["description"] = "as the test wants it"
	return testkit.Call{ID: "c1", Name: name, Args: args}
}

// A read has been done and stands in the transaction that stores its result: the
// transaction does not hold up who takes its place.
func TestAFrozenReadLosesToTheNext(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.ToolCalls(call("read_file", map[string]any{"path": "/mnt/user-data/workspace/note.txt"})).With(testkit.At(0, testkit.Hold(gate))),
		testkit.Text("I have read it."),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("read it"))
	require.NoError(t, err)
	defer live.Close()
	<-gate.Reached()
	write(t, filepath.Join(p.workspace(id), "note.txt"), "what the old attempt reads")
	b := newBarrier(t, p.url, "messages", `NEW.body LIKE '%what the old attempt reads%'`)
	gate.Release()
	old, _ := p.atBarrier(b)
	old.Freeze()
	write(t, filepath.Join(p.workspace(id), "note.txt"), "what the new attempt reads")
	b.open()
	frozen := time.Now()
	run, err := api.AwaitRun(ctx, id, live.RunID(), "success")
	require.NoError(t, err)
	t.Logf("the run ended %v after the freeze", time.Since(frozen).Round(time.Millisecond))
	old.Thaw()
	goesOn(t, api, m, id)
	var followed screen
	followed.toEnd(ctx, t, live)
	list := messages(t, api, id)
	require.Contains(t, list[2].Text(), "what the new attempt reads")
	sameForAll(t, api, id, run.RunID, []string{"", "I have read it."}, &followed)
}

// A command runs on while its worker is frozen. It is not run again, and ends
// soon after its worker wakes.
func TestAFrozenCommandRunsOnce(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Enqueue(
		testkit.ToolCalls(call("bash", map[string]any{"command": "echo once >> effect.txt; sleep 3600.25"})),
		testkit.Text("I checked before I repeated it."),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("do it"))
	require.NoError(t, err)
	defer live.Close()
	effect := filepath.Join(p.workspace(id), "effect.txt")
	awaitFile(t, effect)
	old, _ := p.commanding("sleep 3600.25")
	command := testkit.Live(func(c testkit.Proc) bool { return c.Parent == old.Pid() })
	require.Len(t, command, 1)
	old.Freeze()
	run, err := api.AwaitRun(ctx, id, live.RunID(), "success")
	require.NoError(t, err)
	old.Thaw()
	woken := time.Now()
	require.Eventually(t, func() bool { return len(testkit.Live(testkit.InGroup(command[0].Group))) == 0 }, patience, tick,
		"the command of the old attempt does not live on")
	took := time.Since(woken)
	t.Logf("the command ended %v after its worker woke", took.Round(time.Millisecond))
	require.Less(t, took, 10*time.Second, "two heartbeats, with room")
	goesOn(t, api, m, id)
	var followed screen
	followed.toEnd(ctx, t, live)
	list := messages(t, api, id)
	require.Contains(t, list[2].Text(), "may have run")
	sameForAll(t, api, id, run.RunID, []string{"", "I checked before I repeated it."}, &followed)
	data, err := os.ReadFile(effect)
	require.NoError(t, err)
	require.Equal(t, "once\n", string(data))
}

// The result is stored, the report of it is lost with Temporal, and the worker
// is frozen when Temporal comes back.
func TestAStoredResultThatWasNotReportedStands(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Enqueue(
		testkit.ToolCalls(call("bash", map[string]any{"command": "echo once >> effect.txt; while [ ! -e go ]; do sleep 0.02; done; echo done at last"})),
		testkit.Text("It is done."),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	run, err := api.CreateRun(ctx, id, testkit.SayWatched("do it"))
	require.NoError(t, err)
	effect := filepath.Join(p.workspace(id), "effect.txt")
	awaitFile(t, effect)
	old, _ := p.commanding("done at last")
	p.Temporal.Kill9()
	write(t, filepath.Join(p.workspace(id), "go"), "")
	require.Eventually(t, func() bool { return len(messages(t, api, id)) == 3 }, patience, tick, "the result is stored")
	old.Freeze()
	p.Temporal.Start()
	_, err = api.AwaitRun(ctx, id, run.RunID, "success")
	require.NoError(t, err)
	old.Thaw()
	goesOn(t, api, m, id)
	list := messages(t, api, id)
	require.Contains(t, list[2].Text(), "done at last", "the row decides: the call was made and its result is known")
	require.NotContains(t, list[2].Text(), "may have run")
	data, err := os.ReadFile(effect)
	require.NoError(t, err)
	require.Equal(t, "once\n", string(data))
	sameForAll(t, api, id, run.RunID, []string{"", "It is done."})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// awaitFile waits until a command has made the file: from then on it runs.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, patience, tick)
}
