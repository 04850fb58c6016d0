package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/cli/locate"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
)

// visit is one examination in a test.
type visit struct {
	Options
	t   *testing.T
	env map[string]string
}

func newVisit(t *testing.T) *visit {
	t.Helper()
	v := &visit{t: t, env: map[string]string{}}
	v.Options = Options{
		Getenv:  func(name string) (string, bool) { s, ok := v.env[name]; return s, ok },
		Options: locate.Options{DataDir: t.TempDir(), DefaultServer: "http://127.0.0.1:1"},
		Version: "v1", Now: time.Now,
	}
	v.config("models: [{name: a, use: demo}]")
	return v
}

func (v *visit) config(text string) {
	v.t.Helper()
	v.ConfigPath = filepath.Join(v.t.TempDir(), "config.yaml")
	require.NoError(v.t, os.WriteFile(v.ConfigPath, []byte(text), 0o600))
}

// run makes the examination and gives its checks by name, worst outcome first.
func (v *visit) run() (Report, map[string]Check) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r := Run(ctx, v.Options)
	rank := map[Status]int{Skip: 0, OK: 1, Warn: 2, Fail: 3}
	checks := map[string]Check{}
	for _, c := range r.Checks {
		if old, ok := checks[c.Name]; !ok || rank[c.Status] > rank[old.Status] {
			checks[c.Name] = c
		}
		require.Equal(v.t, c.Status == Warn || c.Status == Fail, c.Fix != "" || c.Name == "config" && c.Status == Warn,
			"who is told of a fault is told what to do: %+v", c)
	}
	return r, checks
}

func TestAFreshMachineIsFine(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.DataDir = filepath.Join(v.DataDir, "not", "yet")
	r, c := v.run()
	require.NotEqual(t, Fail, r.Status, "%+v", r)
	require.Equal(t, OK, c["config"].Status)
	require.Contains(t, c["data directory"].Detail, "is made at the first start")
	require.Equal(t, Skip, c["database"].Status)
	require.Equal(t, Skip, c["server"].Status)
	require.Equal(t, Skip, c["temporal"].Status)
	require.Equal(t, Skip, c["models"].Status)
	require.NoDirExists(t, v.DataDir)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.config("models:\n  - {name: a, use: openai, model: m, api_key: $NO_SUCH_KEY}\nthread: {max_turn: 3}\n")
	r, c := v.run()
	require.Equal(t, Fail, r.Status)
	require.Equal(t, Skip, c["sandbox"].Status)
	text := written(t, &r)
	require.Contains(t, text, "NO_SUCH_KEY")
	require.Contains(t, text, "max_turn")
	require.Equal(t, 2, r.count(Fail), "one line a mistake:\n%s", text)

	v.config("models:\n  - {name: a, use: openai, model: m, api_key: $KEY}\nscheduler: {x: 1}\nsandbox: {use: local, allow_host_bash: true}\n")
	v.env["KEY"] = "sk-secret-word"
	r, c = v.run()
	require.Equal(t, Warn, c["config"].Status)
	require.Contains(t, c["sandbox"].Detail, "may run shell commands")
	require.NotContains(t, written(t, &r), "secret-word")
}

// With a program that stands for bwrap, and without one.
func TestSandbox(t *testing.T) {
	const models = "models:\n  - {name: a, use: demo, model: m}\n"
	dir := t.TempDir()
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "no.sock"))
	machine, gone := testkit.NewMachine(t), testkit.NewMachine(t)
	gone.Stop()
	t.Setenv("PATH", dir)
	v := newVisit(t)
	for _, c := range []struct {
		sandbox string
		status  Status
		detail  string
	}{
		{"", Warn, "local: no shell commands (sandbox.allow_host_bash is false); bubblewrap: there is no program bwrap"},
		{"sandbox: {allow_host_bash: true}", Warn, "local: the model may run shell commands on this machine, as the user who runs the server; bubblewrap: "},
		{"sandbox: {use: bubblewrap}", Fail, "bubblewrap: there is no program bwrap"},
		{"sandbox: {use: local}", OK, "local: no shell commands"},
		{"sandbox: {use: docker}", Fail, "no Docker engine answers at unix://" + dir},
		{"sandbox: {use: remote, base_url: '" + machine.URL() + "'}", OK, "remote: commands run on other machines"},
		{"sandbox: {use: remote, provisioner_url: '" + gone.URL() + "', provisioner_api_key: k}", Fail, "the provisioner at " + gone.URL()},
	} {
		v.config(models + c.sandbox + "\n")
		_, checks := v.run()
		require.Equal(t, c.status, checks["sandbox"].Status, c.sandbox)
		require.Contains(t, checks["sandbox"].Detail, c.detail, c.sandbox)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\n[ \"$1\" = --help ] && exit\necho no namespaces here >&2\nexit 1\n"), 0o700))
	v.config(models)
	_, checks := v.run()
	require.Contains(t, checks["sandbox"].Detail, "no namespaces here")
	require.Contains(t, checks["sandbox"].Fix, "allow user namespaces")
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	path := filepath.Join(v.DataDir, storeFile)
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	_, c := v.run()
	require.Equal(t, OK, c["database"].Status, c)
	require.Contains(t, c["database"].Detail, "version")

	v.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	_, c = v.run()
	require.Equal(t, Warn, c["clock"].Status)

	require.NoError(t, os.WriteFile(path, []byte("something else entirely, but not a database"), 0o600))
	_, c = v.run()
	require.Equal(t, Fail, c["database"].Status)
	v.env[databaseVariable] = "postgres://u:secret-word@127.0.0.1:1/x?connect_timeout=2"
	r, c := v.run()
	require.Equal(t, Fail, c["database"].Status)
	require.NotContains(t, written(t, &r), "secret-word")
}

func TestDataDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	file := filepath.Join(v.DataDir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	v.DataDir = file
	_, c := v.run()
	require.Equal(t, Fail, c["data directory"].Status)
}

func announce(t *testing.T, v *visit, url string) {
	t.Helper()
	text := fmt.Sprintf(`{"pid": 7, "url": %q}`, url)
	require.NoError(t, os.WriteFile(filepath.Join(v.DataDir, "server.json"), []byte(text), 0o600))
}

func TestServer(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	announce(t, v, "http://127.0.0.1:1")
	_, c := v.run()
	require.Equal(t, Warn, c["server"].Status, "one that was killed is no failure")
	require.Contains(t, c["server"].Detail, "process 7")

	healthy := fakeserver.New(t)
	announce(t, v, healthy.URL)
	_, c = v.run()
	require.Equal(t, OK, c["server"].Status)
	require.Equal(t, Skip, c["ports"].Status)

	sick := fakeserver.New(t)
	sick.Sick = "temporal: away"
	v.Server = sick.URL
	r, c := v.run()
	require.Equal(t, Fail, r.Status)
	require.Contains(t, c["server"].Detail, "temporal: away")
	v.Server = "http://127.0.0.1:1"
	_, c = v.run()
	require.Equal(t, Fail, c["server"].Status, "one that was named must be there")
}

func TestPorts(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, ln.Close()) }()
	taken := ln.Addr().(*net.TCPAddr).Port
	v := newVisit(t)
	v.Ports = []Port{{taken, "--listen"}}
	_, c := v.run()
	require.Equal(t, Warn, c["ports"].Status)
	require.Contains(t, c["ports"].Fix, "--listen")
	v.Ports = []Port{{0, "--listen"}}
	_, c = v.run()
	require.Equal(t, OK, c["ports"].Status)
}

func TestTemporalThatIsAway(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.env["TEMPORAL_ADDRESS"], v.env["TEMPORAL_API_KEY"], v.env["TEMPORAL_TLS"] = "127.0.0.1:1", "secret-word", "false"
	r, c := v.run()
	require.Equal(t, Fail, c["temporal"].Status)
	require.Contains(t, c["temporal"].Detail, "127.0.0.1:1")
	require.NotContains(t, written(t, &r), "secret-word")
}

func TestModelsAreAskedOnlyWhenThatIsWanted(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	v := newVisit(t)
	v.config(fmt.Sprintf("models:\n  - {name: a, use: openai, model: kit-model, api_key: $KEY, base_url: %q}\n  - {name: d, use: demo}\n", m.URL()))
	v.env["KEY"] = "sk-secret-word"
	v.run()
	require.Empty(t, m.Requests())

	v.Model = true
	m.Enqueue(testkit.Text("o", testkit.WithFinish("length")))
	_, c := v.run()
	require.Equal(t, OK, c["model a"].Status, c)
	require.Equal(t, OK, c["model d"].Status)
	require.Len(t, m.Requests(), 1)
	require.Contains(t, string(m.Requests()[0].Body), `"max_tokens":1`)

	m.Enqueue(testkit.APIError(401, "invalid_api_key", "no such key: sk-secret-word"))
	r, c := v.run()
	require.Equal(t, Fail, c["model a"].Status)
	require.NotContains(t, written(t, &r), "secret-word")
}

func written(t *testing.T, r *Report) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text, cli.Style{}))
	data, err := json.Marshal(r)
	require.NoError(t, err)
	return text.String() + string(data)
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := Report{}
	r.add(Check{Name: "a", Status: OK, Detail: "fine"}, Check{Name: "long name", Status: Skip, Detail: "nothing"})
	require.Equal(t, OK, r.Status)
	r.add(Check{Name: "b", Status: Warn, Detail: "odd\x1b[31m\nline", Fix: "mend it"})
	require.Equal(t, Warn, r.Status)
	r.add(Check{Name: "c", Status: Fail}, Check{Name: "d", Status: Warn})
	require.Equal(t, Fail, r.Status)
	lines := strings.Split(written(t, &r), "\n")
	require.Equal(t, "ok    a          fine", lines[0])
	require.Equal(t, "warn  b          odd [31m line", lines[2])
	require.Equal(t, "                 -> mend it", lines[3])
	require.Contains(t, lines, "1 ok, 2 warnings, 1 failed, 1 skipped")
}
