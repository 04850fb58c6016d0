package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMachineID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "50f438d7b441d038", MachineID("u", "t"))
	require.NotEqual(t, MachineID("u", "t"), MachineID("t", "u"))
}

func TestNoteMachine(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "user-data")
	require.NoError(t, os.Mkdir(data, 0o755))
	j := Job{Mounts: []Mount{{Virtual: "/mnt/x", Host: "/x"}, {Virtual: UserData, Host: data}}}
	for _, step := range []struct {
		runner string
		before bool
	}{{"docker", false}, {"docker", true}, {"remote", false}, {"remote", true}} {
		before, err := NoteMachine(j, step.runner)
		require.NoError(t, err)
		require.Equal(t, step.before, before)
	}
}

func TestRewriteRoot(t *testing.T) {
	t.Parallel()
	const root = "/home/gem/.deerflow/0123"
	for in, want := range map[string]string{
		"cat /mnt/user-data/workspace/a":  "cat " + root + "/workspace/a",
		"ls /mnt/user-data":               "ls " + root,
		"ls '/mnt/user-data/outputs'":     "ls '" + root + "/outputs'",
		"ls /mnt/user-data-old /mnt/user": "ls /mnt/user-data-old /mnt/user",
		"ls /x/mnt/user-data":             "ls /x/mnt/user-data",
	} {
		require.Equal(t, want, RewriteRoot(in, root))
	}
	require.Equal(t, "at /mnt/user-data/workspace: /home/gem/x", MaskRoot("at "+root+"/workspace: /home/gem/x", root))
}

func TestEndScript(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	start := func(mark string) (*exec.Cmd, <-chan error) {
		cmd := exec.Command("setsid", "sleep", "300")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), MarkVariable + "=" + mark}
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, ended
	}
	mark := "m-" + randomHex()
	_, marked := start(mark)
	_, other := start(mark + "0")
	require.NoError(t, exec.Command("sh", "-c", EndScript(mark)).Run())
	select {
	case <-marked:
	case <-time.After(20 * time.Second):
		t.Fatal("the marked process goes on")
	}
	select {
	case <-other:
		t.Fatal("a process with another mark was ended")
	default:
	}
}

// upRunner is a runner that keeps machines.
type upRunner struct {
	Runner
	err  error
	jobs []Job
}

func (*upRunner) Name() string    { return "up" }
func (*upRunner) HostPaths() bool { return false }
func (*upRunner) Close() error    { return nil }

func (r *upRunner) Prepare(_ context.Context, j Job) error {
	r.jobs = append(r.jobs, j)
	return r.err
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	runner := &upRunner{}
	p, err := NewLocal(LocalOptions{Root: t.TempDir(), Runner: runner, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	box, err := p.Acquire(t.Context(), "u", "t")
	require.NoError(t, err)
	require.NoError(t, box.(Preparer).Prepare(t.Context()))
	require.Equal(t, "t", runner.jobs[0].Thread)
	require.DirExists(t, runner.jobs[0].UserData())

	runner.err = errors.New("no engine")
	err = box.(Preparer).Prepare(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "no engine")
	runner.err = &CommandError{Reason: "the key is wrong"}
	require.NoError(t, box.(Preparer).Prepare(t.Context()))

	plain, err := NewLocal(LocalOptions{Root: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	box, err = plain.Acquire(t.Context(), "u", "t")
	require.NoError(t, err)
	require.NoError(t, box.(Preparer).Prepare(t.Context()))
}
