package stop

import (
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// remoteConfig is a config whose commands run on machines of a cluster.
func remoteConfig(m *testkit.Model, c *testkit.Cluster) string {
	local := testkit.ConfigFor(m)
	remote := strings.Replace(local, "  use: local\n  allow_host_bash: true\n",
		"  use: remote\n  provisioner_url: "+c.URL()+"\n  provisioner_api_key: "+testkit.ClusterKey+"\n", 1)
	if remote == local {
		panic("the test kit's config names its sandbox otherwise")
	}
	return remote
}

func results(t *testing.T, p product, id string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, x := range p.messages(t, id) {
		texts[x.ToolCallID] = x.Text()
	}
	return texts
}

// J07 and I15 on other machines: an upload is there before the first command, what
// commands make can be downloaded, two first calls make one machine, and when it goes
// between two calls another one is made, with the files, and the model is told.
func TestJ07RemoteMachineGoesBetweenTwoCalls(t *testing.T) {
	t.Parallel()
	first := testkit.NewMachine(t)
	cluster := testkit.NewCluster(t, first)
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("begin")).Respond(testkit.ByTurn(
		testkit.ToolCalls(
			bash("c1", "cp /mnt/user-data/uploads/in.csv /mnt/user-data/outputs/out.csv; echo work > w.txt"),
			bash("c2", "echo there"),
		),
		testkit.ToolCalls(testkit.Call{ID: "c3", Name: "read_file", Args: map[string]any{"description": "look", "path": "w.txt"}}),
		testkit.Text("begun"),
	))
	m.On(testkit.LastUser("again")).Respond(testkit.ByTurn(
		testkit.ToolCalls(bash("d1", "cat w.txt /mnt/user-data/outputs/out.csv")), testkit.ToolCalls(bash("d2", "echo still")), testkit.Text("done"),
	))
	dev := testkit.StartDev(t, testkit.DevOptions{Config: remoteConfig(m, cluster)})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	_, err := p.api.Upload(patient(t), id, testkit.UploadFile{Name: "in.csv", Content: []byte("a,b\n")})
	require.NoError(t, err)
	_, err = p.api.WaitRun(patient(t), id, testkit.Say("begin"))
	require.NoError(t, err)
	texts := results(t, p, id)
	require.Equal(t, "there", texts["c2"])
	require.Contains(t, texts["c3"], "work")
	cluster.Set(func() { require.Len(t, cluster.Creates, 1) })
	out, err := p.api.Artifact(patient(t), id, "/mnt/user-data/outputs/out.csv")
	require.NoError(t, err)
	require.Equal(t, "a,b\n", string(out))
	require.Equal(t, "remote:default:"+id, p.sandbox(t, id))

	second := testkit.NewMachine(t)
	cluster.Set(func() { cluster.Current = second })
	first.Stop()
	_, err = p.api.WaitRun(patient(t), id, testkit.Say("again"))
	require.NoError(t, err)
	texts = results(t, p, id)
	require.Contains(t, texts["d1"], "work\na,b\n")
	require.Contains(t, texts["d1"], "was made anew")
	require.Equal(t, "still", texts["d2"])
}

// A stop reaches a command on another machine.
func TestStopEndsRemoteCommands(t *testing.T) {
	t.Parallel()
	machine := testkit.NewMachine(t)
	mark := markOf(t)
	m := testkit.NewModel(t)
	m.Enqueue(testkit.ToolCalls(bash("c1", "setsid sleep "+mark+" & sleep "+mark)))
	dev := testkit.StartDev(t, testkit.DevOptions{Config: remoteConfig(m, testkit.NewCluster(t, machine))})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	run := p.start(t, id, "work")
	require.Eventually(t, func() bool { return len(testkit.Live(marked(mark))) > 0 }, patience, tick)
	w := watch(t)
	require.NoError(t, p.api.CancelRun(patient(t), id, run, testkit.CancelOptions{}))
	w.within(patience, "everything the command had started was gone", func() bool { return len(testkit.Live(marked(mark))) == 0 })
	p.awaitInterrupted(t, id, run)
	p.goesOn(t, m, id)
}

// A worker that is killed while a command runs elsewhere does not run it again.
func TestRemoteCommandOfAKilledWorker(t *testing.T) {
	t.Parallel()
	machine := testkit.NewMachine(t)
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(
		testkit.ToolCalls(bash("c1", "echo once >> count.txt; sleep 3600")),
		testkit.ToolCalls(bash("c2", "cat count.txt")),
		testkit.Text("I looked first."),
	))
	dev := testkit.StartDev(t, testkit.DevOptions{Config: remoteConfig(m, testkit.NewCluster(t, machine))})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	run := p.start(t, id, "work")
	require.Eventually(t, func() bool { return machine.Read("workspace/count.txt") == "once\n" }, patience, tick)
	dev.Kill9()
	dev = dev.Restart()
	p.api = dev.API()
	_, err := p.api.AwaitRun(patient(t), id, run, "success")
	require.NoError(t, err)
	texts := results(t, p, id)
	require.Contains(t, texts["c1"], "may have run")
	require.Equal(t, "once", texts["c2"])
}

// Nobody answers at the address of the machine: the model is told so after a short
// wait, and that the command was not run; a machine that comes up meanwhile is used.
func TestRemoteMachineThatIsAway(t *testing.T) {
	t.Parallel()
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := reserved.Addr().String()
	require.NoError(t, reserved.Close())
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("first")).Respond(testkit.ByTurn(testkit.ToolCalls(bash("c1", "echo 1")), testkit.Text("not run")))
	m.On(testkit.LastUser("second")).Respond(testkit.ByTurn(testkit.ToolCalls(bash("c2", "echo 2")), testkit.Text("run")))
	remote := remoteConfig(m, testkit.NewCluster(t, nil))
	head, _, _ := strings.Cut(remote, "  provisioner_url: ")
	_, tail, _ := strings.Cut(remote, "  provisioner_api_key: "+testkit.ClusterKey+"\n")
	dev := testkit.StartDev(t, testkit.DevOptions{Config: head + "  base_url: http://" + address + "\n" + tail})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)

	begun := time.Now()
	_, err = p.api.WaitRun(patient(t), id, testkit.Say("first"))
	require.NoError(t, err)
	require.Less(t, time.Since(begun), time.Minute)
	require.Regexp(t, `^Error: the sandbox cannot be reached \(.*connection refused\); bash was not run\.`, results(t, p, id)["c1"])
	tries := strings.Count(dev.Output(), "The sandbox of a call cannot be reached")
	require.Greater(t, tries, 1, "a short outage is waited for")

	run := p.start(t, id, "second")
	require.Eventually(t, func() bool {
		return strings.Count(dev.Output(), "The sandbox of a call cannot be reached") > tries
	}, patience, tick)
	back, err := net.Listen("tcp", address)
	require.NoError(t, err)
	target, err := url.Parse(testkit.NewMachine(t).URL())
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	require.NoError(t, server.Listener.Close())
	server.Listener = back
	server.Start()
	t.Cleanup(server.Close)
	_, err = p.api.AwaitRun(patient(t), id, run, "success")
	require.NoError(t, err)
	require.Equal(t, "2", results(t, p, id)["c2"])
}

// A thread that is deleted takes its machine with it.
func TestDeletedThreadEndsItsMachine(t *testing.T) {
	t.Parallel()
	cluster := testkit.NewCluster(t, testkit.NewMachine(t))
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(testkit.ToolCalls(bash("c1", "echo 1")), testkit.Text("done")))
	dev := testkit.StartDev(t, testkit.DevOptions{Config: remoteConfig(m, cluster)})
	p := product{api: dev.API(), dataDir: dev.DataDir}
	id := p.newThread(t)
	_, err := p.api.WaitRun(patient(t), id, testkit.Say("work"))
	require.NoError(t, err)
	made := ""
	cluster.Set(func() {
		require.Len(t, cluster.Creates, 1)
		made = cluster.Creates[0].ID
		require.Empty(t, cluster.Deletes)
	})
	require.NoError(t, p.api.DeleteThread(patient(t), id))
	cluster.Set(func() { require.Contains(t, cluster.Deletes, "DELETE /api/sandboxes/"+made) })
	require.NoDirExists(t, p.workspace(id))
}
