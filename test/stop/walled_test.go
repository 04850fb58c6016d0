package stop

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// walledStubborn adds what gets away from a sandbox without a wall.
func walledStubborn() map[string]string {
	all := maps.Clone(stubborn)
	all["one whose child leaves and forgets where it comes from"] = `setsid --fork env -i bash -c "trap '' TERM; sleep MARK; sleep MARK"; touch started; sleep MARK`
	return all
}

func TestStopEndsWalledCommands(t *testing.T) {
	t.Parallel()
	testkit.NeedBubblewrap(t)
	for name, line := range walledStubborn() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := markOf(t)
			m := testkit.NewModel(t)
			m.Enqueue(testkit.ToolCalls(bash("c1", "echo begun; "+strings.ReplaceAll(line, "MARK", mark))))
			p := startDev(t, testkit.WalledConfigFor(m))
			id := p.newThread(t)
			run := p.start(t, id, "work")
			awaitFile(t, filepath.Join(p.workspace(id), "started"))
			require.Eventually(t, func() bool { return len(testkit.Live(marked(mark))) > 0 }, patience, tick)
			w := watch(t)
			require.NoError(t, p.api.CancelRun(patient(t), id, run, testkit.CancelOptions{}))
			w.within(soon, "everything the command had started was gone", func() bool { return len(testkit.Live(marked(mark))) == 0 })
			p.awaitInterrupted(t, id, run)
			p.goesOn(t, m, id)
		})
	}
}

// With a wall, nothing outlives the worker: there is no need for a next start.
func TestWalledCommandsDieWithAKilledWorker(t *testing.T) {
	t.Parallel()
	testkit.NeedBubblewrap(t)
	for name, line := range walledStubborn() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := markOf(t)
			m := testkit.NewModel(t)
			m.Respond(testkit.ByTurn(
				testkit.ToolCalls(bash("c1", strings.ReplaceAll(line, "MARK", mark))),
				testkit.Text("I looked first."),
			))
			dev := testkit.StartDev(t, testkit.DevOptions{Config: testkit.WalledConfigFor(m)})
			p := product{api: dev.API(), dataDir: dev.DataDir}
			id := p.newThread(t)
			run := p.start(t, id, "work")
			awaitFile(t, filepath.Join(p.workspace(id), "started"))
			require.Eventually(t, func() bool { return len(testkit.Live(marked(mark))) > 0 }, patience, tick)
			w := watch(t)
			dev.Kill9()
			w.within(patience, "everything the command had started was gone", func() bool { return len(testkit.Live(marked(mark))) == 0 })
			dev = dev.Restart()
			p.api = dev.API()
			_, err := p.api.AwaitRun(patient(t), id, run, "success")
			require.NoError(t, err)
			require.Contains(t, p.messages(t, id)[2].Text(), "may have run")
			p.goesOn(t, m, id)
		})
	}
}

// Where the configuration names no sandbox, commands are walled in: bash is there
// without leave, with files that the tools share, no network, nothing of the server's
// environment, and output that is bounded however much there is of it.
func TestCommandsAreWalledInByDefault(t *testing.T) {
	t.Parallel()
	testkit.NeedBubblewrap(t)
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(
		testkit.ToolCalls(bash("c1", `env; cat /proc/[0-9]*/envir* | tr '\0' '\n'; cat ~/.netrc; echo written > a.txt`)), // J05
		testkit.ToolCalls(
			testkit.Call{ID: "c2", Name: "read_file", Args: map[string]any{"description": "look", "path": "/mnt/user-data/workspace/a.txt"}},
			bash("c3", "curl -sS --max-time 5 "+m.URL()+" || cat /proc/net/dev"),
			bash("c4", "head -c 300000000 /dev/zero | tr '\\0' x"),
			bash("c5", "sleep 3600 & cat a.txt"),
		),
		testkit.Text("fine"),
	))
	const secret = "sk-of-the-operator"
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".netrc"), []byte(secret), 0o600))
	config := strings.Replace(testkit.WalledConfigFor(m), "sandbox:\n  use: bubblewrap\n", "", 1)
	require.NotContains(t, config, "sandbox")
	dev := testkit.StartDev(t, testkit.DevOptions{Config: config, Dir: home, Env: []string{"OPENAI_API_KEY=" + secret, "SOMETHING=" + secret}})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	run := p.start(t, id, "work")
	_, err := p.api.AwaitRun(patient(t), id, run, "success")
	require.NoError(t, err)
	results := map[string]string{}
	for _, x := range p.messages(t, id) {
		results[x.ToolCallID] = x.Text()
	}
	require.Contains(t, results["c1"], "HOME=/mnt/user-data/workspace")
	require.NotContains(t, results["c1"], secret)
	require.NotContains(t, results["c1"], dev.DataDir)
	require.Contains(t, results["c2"], "written")
	require.Contains(t, results["c3"], "lo:")
	require.NotContains(t, results["c3"], "eth")
	require.Less(t, len(results["c4"]), 30_000)
	require.Equal(t, "written", results["c5"])
	require.Equal(t, "bubblewrap:default:"+id, p.sandbox(t, id))
}

// The operator puts up a wall: threads from before go on, with their files.
func TestAThreadMovesBehindTheWall(t *testing.T) {
	t.Parallel()
	testkit.NeedBubblewrap(t)
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("write")).Respond(testkit.ByTurn(testkit.ToolCalls(bash("c1", "echo kept > a.txt")), testkit.Text("written")))
	m.On(testkit.LastUser("read")).Respond(testkit.ByTurn(
		testkit.ToolCalls(bash("r1", "cat a.txt"), bash("r2", "cat a.txt")), testkit.ToolCalls(bash("r3", "cat a.txt")), testkit.Text("read")))
	dev := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	_, err := p.api.WaitRun(patient(t), id, testkit.Say("write"))
	require.NoError(t, err)
	require.Equal(t, "local:default:"+id, p.sandbox(t, id))
	dev = dev.Restart(func(o *testkit.DevOptions) { o.Config = testkit.WalledConfigFor(m) })
	p.api = dev.API()
	_, err = p.api.WaitRun(patient(t), id, testkit.Say("read"))
	require.NoError(t, err)
	require.Equal(t, "bubblewrap:default:"+id, p.sandbox(t, id))
	results := map[string]string{}
	for _, x := range p.messages(t, id) {
		results[x.ToolCallID] = x.Text()
	}
	for _, call := range []string{"r1", "r2"} {
		require.Regexp(t, `^kept\n\nNote: the sandbox of this conversation is now bubblewrap:`, results[call])
	}
	require.Equal(t, "kept", results["r3"])
}

// sandbox is where the state of a thread says that it works.
func (p *product) sandbox(t *testing.T, threadID string) string {
	t.Helper()
	state, err := p.api.State(patient(t), threadID)
	require.NoError(t, err)
	var ref struct {
		ID string `json:"sandbox_id"`
	}
	require.NoError(t, state.Values.Decode("sandbox", &ref))
	return ref.ID
}
