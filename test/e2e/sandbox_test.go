package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// A machine without bwrap: who asks for the wall by name is told at the start, who
// does not gets a sandbox without commands, and is told too.
func TestAMachineThatCannotWallCommandsIn(t *testing.T) {
	t.Parallel()
	noPrograms := []string{"PATH=" + t.TempDir()}
	m := testkit.NewModel(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(testkit.WalledConfigFor(m)), 0o600))
	_, stderr, code := testkit.RunCLI(t, []string{
		"dev", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--temporal-port", "0", "--temporal-ui-port", "0",
	}, testkit.CLIOptions{Env: noPrograms})
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "sandbox.use: this host cannot do what the configuration asks for: bubblewrap: there is no program bwrap on the PATH")
	requireNothingBegun(t, filepath.Join(dir, "data"), stderr)

	m.Enqueue(testkit.Text("hello"))
	p := testkit.StartDev(t, testkit.DevOptions{
		Config: strings.Replace(testkit.WalledConfigFor(m), "sandbox:\n  use: bubblewrap\n", "", 1), Env: noPrograms,
	})
	require.Contains(t, p.Output(), "Commands cannot be walled in")
	require.Contains(t, p.Output(), "deerflow: commands are off: bubblewrap: there is no program bwrap on the PATH")
	ctx := patient(t)
	th, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	_, err = p.API().WaitRun(ctx, th.ThreadID, testkit.Say("hi"))
	require.NoError(t, err)
	var names []string
	for _, tool := range m.Requests()[0].Tools {
		names = append(names, tool.Name)
	}
	require.Contains(t, names, "read_file")
	require.NotContains(t, names, "bash")
}

// Without an engine, sandbox.use: docker is a mistake that is told before anything starts.
func TestDockerWithoutAnEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, data := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(config, []byte("models: [{name: d, use: demo}]\nsandbox: {use: docker}\n"), 0o600))
	_, stderr, code := testkit.RunCLI(t, []string{
		"dev", "--config", config, "--data-dir", data, "--listen", "127.0.0.1:0", "--temporal-port", "0", "--temporal-ui-port", "0",
	}, testkit.CLIOptions{Env: []string{"DOCKER_HOST=unix://" + dir + "/no.sock"}})
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "no Docker engine answers at unix://"+dir+"/no.sock")
	requireNothingBegun(t, data, stderr)
}

func requireNothingBegun(t *testing.T, dataDir, stderr string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
	left, err := os.ReadDir(dataDir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing was made")
}
