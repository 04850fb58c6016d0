package docker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
)

func run(t *testing.T, b sandbox.Sandbox, line string) sandbox.ExecResult {
	t.Helper()
	r, err := b.Exec(t.Context(), sandbox.Command{Line: line})
	require.NoError(t, err)
	return r
}

func TestExec(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")
	require.Equal(t, "docker:u:t", b.ID())

	r := run(t, b, "echo out; echo err >&2; exit 3")
	require.Equal(t, sandbox.ExecResult{Stdout: "out\n", Stderr: "err\n", ExitCode: 3, Timeout: time.Minute}, r)

	t.Run("a secret goes in as a variable and does not come out", func(t *testing.T) {
		r, err := b.Exec(t.Context(), sandbox.Command{Line: `echo "got $TOKEN"`, Env: map[string]string{"TOKEN": "s3cret-value"}})
		require.NoError(t, err)
		require.Equal(t, "got [redacted]\n", r.Stdout)
		for _, p := range e.execs {
			require.NotContains(t, strings.Join(p.request.Cmd, " "), "s3cret-value")
		}
	})
	t.Run("standard input is empty", func(t *testing.T) {
		require.Equal(t, "end\n", run(t, b, "cat; echo end").Stdout)
	})
	t.Run("quotes arrive as they are", func(t *testing.T) {
		require.Equal(t, "it's \"1\" $x\n", run(t, b, `printf '%s\n' "it's" | sed 's/$/ "1" $x/'`).Stdout)
	})
	t.Run("a child in the background does not hold the call", func(t *testing.T) {
		start := time.Now()
		r := run(t, b, "sleep 30 & echo started")
		require.Equal(t, "started\n", r.Stdout)
		require.Less(t, time.Since(start), 20*time.Second)
	})
	t.Run("output is capped", func(t *testing.T) {
		r := run(t, b, "head -c 12000000 /dev/zero | tr '\\0' x")
		require.Contains(t, r.Stdout, "output is longer than 10 MiB: 1514240 more bytes were dropped")
	})
	require.Equal(t, 1, e.made, "one container for all of them")
}

func TestContainerIsClosed(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	p := e.provider(t, Options{Memory: 1 << 30, CPUs: 1.5, Processes: 100, User: "7:8"})
	run(t, acquire(t, p, "t"), "true")
	b := e.containers["c1"]
	require.Equal(t, DefaultPrefix+"-"+sandbox.MachineID("u", "t"), b.name)
	require.Equal(t, "7:8", b.config.User)
	require.EqualValues(t, "none", b.host.NetworkMode)
	require.Equal(t, []string{"CAP_ALL"}, prefixed(b.host.CapDrop))
	require.Equal(t, []string{"no-new-privileges"}, b.host.SecurityOpt)
	require.EqualValues(t, 1<<30, b.host.Memory)
	require.EqualValues(t, 1<<30, b.host.MemorySwap)
	require.EqualValues(t, 1_500_000_000, b.host.NanoCPUs)
	require.EqualValues(t, 100, *b.host.PidsLimit)
	require.Len(t, b.host.Mounts, 1)
	require.Equal(t, sandbox.UserData, b.host.Mounts[0].Target)
}

// prefixed gives capabilities their long name, which the client may or may not send.
func prefixed(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "CAP_" + strings.TrimPrefix(n, "CAP_")
	}
	return out
}

func TestEngineSide(t *testing.T) {
	t.Parallel()
	r := &Runner{o: Options{Data: "/data/users", EngineData: "/srv/deerflow/users"}}
	require.Equal(t, "/srv/deerflow/users/u/threads/t", r.engineSide("/data/users/u/threads/t"))
	require.Equal(t, "/data/users-2", r.engineSide("/data/users-2"))
	require.Equal(t, "/mine", r.engineSide("/mine"))
	r.o.EngineData = ""
	require.Equal(t, "/data/users/u", r.engineSide("/data/users/u"))
}

func TestTimeoutAndStop(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")

	r, err := b.Exec(t.Context(), sandbox.Command{Line: "echo begun; sleep 300", Timeout: time.Second})
	require.NoError(t, err)
	require.True(t, r.TimedOut)
	require.Equal(t, "begun\n", r.Stdout)

	for name, line := range map[string]string{
		"a plain command":                   "echo begun; sleep 300",
		"one that ignores TERM":             "trap '' TERM; echo begun; sleep 300; sleep 300",
		"one that empties its environment":  "echo begun; exec env -i sleep 300",
		"one with a child of its own group": "setsid sleep 300 & echo begun; wait",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			r, err := b.Exec(ctx, sandbox.Command{Line: line})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, "begun\n", r.Stdout)
			require.Less(t, time.Since(start), 30*time.Second)
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, p := range e.execs {
				if p.started && strings.Contains(strings.Join(p.request.Cmd, " "), line) {
					require.True(t, p.ended, "the command goes on")
					require.Eventually(t, func() bool {
						return errors.Is(syscall.Kill(-p.cmd.Process.Pid, 0), syscall.ESRCH)
					}, 30*time.Second, 10*time.Millisecond, "something of it goes on")
				}
			}
		})
	}
	require.Equal(t, 1, e.made, "the container outlives its commands")
}

// J07: the container goes between two calls; it is made again once, files are kept,
// and the model is told.
func TestJ07LostContainer(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")
	require.Empty(t, run(t, b, "echo 1").Notice)
	_, err := b.WriteFile(t.Context(), "a.txt", strings.NewReader("kept"), sandbox.WriteOptions{})
	require.NoError(t, err)

	e.lose()
	var group sync.WaitGroup
	notices := make(chan string, 4)
	for range 4 {
		group.Go(func() {
			r, err := b.Exec(context.WithoutCancel(t.Context()), sandbox.Command{Line: "cat workspace/a.txt"})
			if err != nil || r.Stdout != "kept" {
				t.Errorf("%+v %v", r, err)
			}
			notices <- r.Notice
		})
	}
	group.Wait()
	close(notices)
	told := 0
	for n := range notices {
		if n != "" {
			require.Equal(t, sandbox.Remade, n)
			told++
		}
	}
	require.Equal(t, 1, told)
	require.Equal(t, 2, e.made)
}

func TestJ07TwoFirstCallsAtOnce(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	p := e.provider(t, Options{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			b, err := p.Acquire(context.WithoutCancel(t.Context()), "u", "t")
			if err == nil {
				_, err = b.Exec(context.WithoutCancel(t.Context()), sandbox.Command{Line: "true"})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, e.made)
}

func TestStoppedContainerIsStarted(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")
	run(t, b, "true")
	e.mu.Lock()
	e.containers["c1"].running = false
	e.mu.Unlock()
	require.Equal(t, sandbox.Remade, run(t, b, "true").Notice)
	require.Equal(t, 1, e.made)
}

func TestLostWhileTheCommandRan(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")
	time.AfterFunc(time.Second, e.lose)
	r, err := b.Exec(t.Context(), sandbox.Command{Line: "echo begun; sleep 300"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.Equal(t, "begun\n", r.Stdout)
	require.Equal(t, 1, e.made, "a command that may have run is not run again")
}

func TestContainersOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	data := t.TempDir()
	first, err := New(t.Context(), Options{Data: data, Client: e.client(t), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	p, err := sandbox.NewLocal(sandbox.LocalOptions{Root: data, Runner: first, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	run(t, acquire(t, p, "t"), "true") // and the process dies

	second := e.provider(t, Options{Data: data})
	require.Empty(t, run(t, acquire(t, second, "t"), "true").Notice)
	require.Equal(t, 1, e.made, "the container is found")

	changed := e.provider(t, Options{Data: data, Network: true})
	require.NotEmpty(t, run(t, acquire(t, changed, "t"), "true").Notice)
	require.Equal(t, 2, e.made, "one that is not as configured is made anew")

	other := e.provider(t, Options{Prefix: "other"})
	require.NoError(t, other.Close())
	require.Len(t, e.containers, 1, "containers of others stay")
}

func TestIdleCrowdRemoveAndClose(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	p := e.provider(t, Options{Replicas: 2, Idle: 2 * time.Second})
	for _, thread := range []string{"a", "b", "c"} {
		run(t, acquire(t, p, thread), "true")
	}
	require.Nil(t, e.container(DefaultPrefix+"-"+sandbox.MachineID("u", "a")), "the one unused for longest makes room")
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.containers) == 0
	}, 60*time.Second, 20*time.Millisecond, "idle ones end")

	long := e.provider(t, Options{})
	run(t, acquire(t, long, "d"), "true")
	require.NoError(t, long.Remove(t.Context(), "u", "d"))
	require.Empty(t, e.containers)
	require.NoError(t, long.Remove(t.Context(), "u", "never"))
	run(t, acquire(t, long, "e"), "true")
	require.NoError(t, long.Close())
	require.Empty(t, e.containers)
}

func TestImageIsPulled(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	run(t, acquire(t, e.provider(t, Options{Image: "alpine:3"}), "t"), "true")
	require.Equal(t, []string{"docker.io/library/alpine:3"}, e.pulled)

	b := acquire(t, e.provider(t, Options{Image: "missing:1"}), "t2")
	_, err := b.Exec(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.ErrorContains(t, err, "pull image missing:1: manifest unknown")
}

func TestEngineFailures(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := acquire(t, e.provider(t, Options{}), "t")
	e.noStart = true
	_, err := b.Exec(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.ErrorContains(t, err, "no cgroup")
	require.Empty(t, e.containers, "one that does not start is not left behind")
	require.ErrorIs(t, b.(sandbox.Preparer).Prepare(t.Context()), sandbox.ErrUnavailable)

	e.noStart = false
	require.NoError(t, b.(sandbox.Preparer).Prepare(t.Context()))
	e.mu.Lock()
	e.away = true
	e.mu.Unlock()
	_, err = b.Exec(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	var away *sandbox.UnreachableError
	require.ErrorAs(t, err, &away, "nothing was run")
	require.ErrorAs(t, b.(sandbox.Preparer).Prepare(t.Context()), &away, "it is seen before a command is begun")
	// Files are here, whatever the engine does.
	_, err = b.WriteFile(t.Context(), "a.txt", strings.NewReader("x"), sandbox.WriteOptions{})
	require.NoError(t, err)

	c, err := client.New(client.WithHost("unix://" + filepath.Join(t.TempDir(), "none.sock")))
	require.NoError(t, err)
	_, err = New(t.Context(), Options{Data: t.TempDir(), Client: c})
	require.ErrorContains(t, err, "no Docker engine answers at unix://")
}

// The worker dies: what it ran ends all the same, and leaves nothing that waits.
func TestLauncherEndsByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	launch := func(line, seconds string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", launcher, line, pid, seconds)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	}
	gone := func(cmd *exec.Cmd) func() bool {
		return func() bool { return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH) }
	}
	late := launch("trap '' TERM; sleep 300; sleep 300", "1")
	require.Error(t, late.Run())
	require.Eventually(t, gone(late), 30*time.Second, 10*time.Millisecond)

	quick := launch("exit 4", "300")
	err := quick.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 4, exit.ExitCode())
	require.Eventually(t, gone(quick), 30*time.Second, 10*time.Millisecond)
	require.NoFileExists(t, pid)
}

// TestRealEngine runs where an engine answers.
func TestRealEngine(t *testing.T) {
	data := t.TempDir()
	r, err := New(t.Context(), Options{Data: data, Prefix: "deer-flow-test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Skipf("SKIPPED, no container was run: %v", err)
	}
	p, err := sandbox.NewLocal(sandbox.LocalOptions{Root: data, Runner: r, BashTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(p.Remove(context.Background(), "u", "t"), p.Close())) })
	b := acquire(t, p, "t")
	_, err = b.WriteFile(t.Context(), "in.txt", strings.NewReader("from outside"), sandbox.WriteOptions{})
	require.NoError(t, err)
	out := run(t, b, "pwd; cat in.txt; echo from inside > /mnt/user-data/outputs/out.txt; cat /proc/net/route | wc -l; id -u")
	require.Contains(t, out.Stdout, "/mnt/user-data/workspace\nfrom outside")
	f, _, err := b.Open(t.Context(), "/mnt/user-data/outputs/out.txt")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "from inside\n", string(text))
	short, err := b.Exec(t.Context(), sandbox.Command{Line: "exec env -i sleep 300", Timeout: 2 * time.Second})
	require.NoError(t, err)
	require.True(t, short.TimedOut)
	require.NotContains(t, run(t, b, "for e in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$e; echo; done").Stdout, "sleep 300")
}
