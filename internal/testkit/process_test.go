package testkit

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeOptions starts this test binary as a `deerflow dev` of the given mode.
func fakeOptions(t *testing.T, mode string) DevOptions {
	t.Helper()
	return DevOptions{BinaryPath: self(t), Env: []string{fakeEnv + "=" + mode}}
}

func TestStartDevAndStop(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "slow")
	o.Config = "models: []"
	o.Args = []string{"--exit", "9"}
	p := StartDev(t, o)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, p.URL)
	require.Equal(t, "http://"+p.Addr(), p.URL)
	require.Equal(t, []string{"127.0.0.1:1", "http://127.0.0.1:2"}, []string{p.Temporal, p.TemporalUI})
	require.FileExists(t, filepath.Join(p.DataDir, "server.json"))
	require.Positive(t, p.ReadyIn)
	require.NotEqual(t, os.Getpid(), p.Pid())
	require.Contains(t, p.Output(), "ports 0 0")
	require.Contains(t, p.Output(), "config models: []")
	thread, err := p.API().Thread(testContext(t), "t1")
	require.NoError(t, err)
	require.Equal(t, "t1", thread.ThreadID)

	code, took := p.Stop()
	require.Equal(t, 9, code)
	require.Positive(t, took)
	await(t, p.Exited(), "the exit")
	require.Contains(t, p.Output(), "bye")
	code, _ = p.Stop()
	require.Equal(t, 9, code, "a second stop tells the same")
}

func TestKill9AndRestartOnTheSameData(t *testing.T) {
	t.Parallel()
	p := StartDev(t, fakeOptions(t, "dev"))
	p.Kill9()
	code, err := p.Wait(testContext(t))
	require.NoError(t, err)
	require.Equal(t, -1, code)

	// server.json is still the dead process's, which must not be taken for ready.
	next := p.Restart(func(o *DevOptions) { o.Listen = p.Addr() })
	require.Equal(t, p.DataDir, next.DataDir)
	require.Equal(t, p.URL, next.URL)
	require.NotEqual(t, p.Pid(), next.Pid())

	last := next.Restart()
	await(t, next.Exited(), "the end of the process that still ran")
	_, err = last.Wait(canceled())
	require.ErrorIs(t, err, context.Canceled)
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestStopOfAStubbornProcessFailsTheTest(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	o := fakeOptions(t, "stubborn")
	o.StopTimeout = 50 * time.Millisecond
	p := StartDev(s, o)
	code, took := p.Stop()
	require.Equal(t, -1, code)
	require.GreaterOrEqual(t, took, 50*time.Millisecond)
	require.Contains(t, s.text(), "SIGTERM")
	await(t, p.Exited(), "the exit")
}

func TestStartDevReportsWhyItFailed(t *testing.T) {
	t.Parallel()
	fails := func(o DevOptions) string {
		s := newSpy(t)
		return s.do(func() { StartDev(s, o) })
	}
	require.Contains(t, fails(fakeOptions(t, "crash")), "it ended with exit code 7")
	require.Contains(t, fails(fakeOptions(t, "crash")), "going down")

	o := fakeOptions(t, "unhealthy")
	o.ReadyTimeout = 300 * time.Millisecond
	require.Contains(t, fails(o), "/health says 503")

	o = fakeOptions(t, "hang")
	o.ReadyTimeout = 50 * time.Millisecond
	require.Contains(t, fails(o), "server.json")

	o = fakeOptions(t, "dev")
	o.Config, o.ConfigPath = "a: b", "c.yaml"
	require.Contains(t, fails(o), "both Config and ConfigPath")

	require.Contains(t, fails(DevOptions{BinaryPath: filepath.Join(t.TempDir(), "none")}), "no such file")
}

func TestServerInfoOfAnotherProcessIsNotReady(t *testing.T) {
	t.Parallel()
	o := fakeOptions(t, "hang")
	o.DataDir, o.ReadyTimeout = t.TempDir(), 50*time.Millisecond
	require.NoError(t, writeServerInfo(o.DataDir, "127.0.0.1:1"))
	s := newSpy(t)
	require.Contains(t, s.do(func() { StartDev(s, o) }), "server.json is of pid")
	require.NoError(t, os.WriteFile(filepath.Join(o.DataDir, "server.json"), []byte(`{"pid":`), 0o600))
	s = newSpy(t)
	require.Contains(t, s.do(func() { StartDev(s, o) }), "unexpected end of JSON")
}

func TestProcessesAreKilledWithTheTest(t *testing.T) {
	t.Parallel()
	var p *Process
	t.Run("inner", func(t *testing.T) { p = StartDev(t, fakeOptions(t, "stubborn")) })
	select {
	case <-p.Exited():
	default:
		require.Fail(t, "the process outlives its test")
	}
}

// TestProcessesDieWithTheTestProcess kills a process that has started another
// one the way tests do, and sees that one die too.
func TestProcessesDieWithTheTestProcess(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	parent := exec.CommandContext(testContext(t), self(t), "dev", "--data-dir", data, "--listen", "127.0.0.1:0")
	parent.Env = append(os.Environ(), fakeEnv+"=parent")
	require.NoError(t, parent.Start())
	t.Cleanup(func() { _ = parent.Wait() })

	var info serverInfo
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(data, "server.json"))
		return err == nil && json.Unmarshal(text, &info) == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.NotEqual(t, parent.Process.Pid, info.PID)
	req, err := http.NewRequestWithContext(testContext(t), http.MethodGet, info.URL+"hold", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	_, err = io.ReadFull(res.Body, make([]byte, 10))
	require.NoError(t, err)

	require.NoError(t, parent.Process.Kill())
	_, err = res.Body.Read(make([]byte, 1))
	require.Error(t, err, "the connection ends with the process")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestChildEnvIsClosed(t *testing.T) {
	t.Setenv("DEERFLOW_SERVER", "http://elsewhere")
	t.Setenv("OPENAI_API_KEY", "secret")
	env := childEnv("/home/test", []string{"HOME=/other"})
	require.Contains(t, env, "PATH="+os.Getenv("PATH"))
	require.Equal(t, "HOME=/home/test", env[0])
	require.Equal(t, "HOME=/other", env[len(env)-1])
	for _, entry := range env {
		require.NotContains(t, entry, "elsewhere")
		require.NotContains(t, entry, "secret")
	}
}
