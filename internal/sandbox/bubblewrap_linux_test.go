package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireVariable, set to "required", makes it an error that this machine cannot run
// these tests.
const requireVariable = "DEERFLOW_TEST_BUBBLEWRAP"

// walls makes a runner, or skips the test where bubblewrap cannot be had.
func walls(t *testing.T, o BubblewrapOptions) Runner {
	t.Helper()
	r, err := NewBubblewrap(t.Context(), o)
	if err != nil && os.Getenv(requireVariable) != "required" {
		t.Skip("SKIPPED, nothing was tested: commands cannot be walled in here: ", err)
	}
	require.NoError(t, err)
	return r
}

// newWalled makes a sandbox whose commands bubblewrap walls in.
func newWalled(t *testing.T, change func(*BubblewrapOptions, *LocalOptions)) *local {
	t.Helper()
	return acquire(t, newWalledProvider(t, change), "u1", "t1")
}

func newWalledProvider(t *testing.T, change func(*BubblewrapOptions, *LocalOptions)) *Local {
	t.Helper()
	return newLocal(t, func(l *LocalOptions) {
		var b BubblewrapOptions
		l.AllowHostBash = false
		if change != nil {
			change(&b, l)
		}
		l.Runner = walls(t, b)
	})
}

// limited sets the limits.
func limited(l Limits) func(*BubblewrapOptions, *LocalOptions) {
	return func(b *BubblewrapOptions, _ *LocalOptions) { b.Limits = l }
}

func TestWalledExec(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	require.Equal(t, "bubblewrap:u1:t1", l.ID())
	put(t, l, "in.txt", "hello\n")
	for _, c := range []struct{ line, want string }{
		{"cat in.txt", "hello"},
		{"cat /mnt/user-data/workspace/in.txt", "hello"},
		{"cd ..; cat workspace/../workspace/in.txt", "hello"}, // the wall does not need the guard
		{"cd; pwd; pwd -P", Workspace + "\n" + Workspace},
		{"echo out; echo err >&2", "out\nStd Error:\nerr"},
		{"exit 3", "Exit Code: 3"},
		{"true", "(no output)"},
		{"kill -9 $$", "Exit Code: 137"},
		{"cat", "(no output)"}, // standard input is empty
		{"printf 'a\\xffb'", "a\uFFFDb"},
		{"[[ abc == a* ]] && echo bash", "bash"},
		{"no_such_program_here 2>/dev/null", "Exit Code: 127"},
		{"whoami; echo ~; echo $HOME", "sandbox\n" + Workspace + "\n" + Workspace},
		{"echo x > /tmp/y && cat /tmp/y; ls -A /tmp", "x\ny"},
		{"ls /tmp", "(no output)"}, // nothing but files stays
		{"cat <(echo a) | tr a b", "b"},
		{"echo 'I /mnt/user-data-old'", "I /mnt/user-data-old"},
	} {
		require.Equal(t, c.want, run(t, l, c.line).Text(), c.line)
	}
	noHost(t, l, run(t, l, "cat /proc/self/mountinfo /proc/1/cmdline /proc/mounts; ls nope").Text())
	for _, line := range []string{"", " \n", "a\x00b", strings.Repeat("x", maxCommand+1)} {
		_, err := l.Exec(t.Context(), Command{Line: line})
		var refusal *CommandError
		require.ErrorAs(t, err, &refusal)
	}
}

// What commands write is there for the tools, and the other way round, with links,
// modes and names as they are.
func TestWalledFilesAreShared(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	run(t, l, "mkdir -p d/e && echo one > d/e/a.txt && chmod 600 d/e/a.txt && ln -s e/a.txt d/l && ln -s /mnt/user-data/workspace/d d2 && echo 季 > ../outputs/季度报告.md")
	require.Equal(t, "one\n", get(t, l, "d/e/a.txt"))
	require.Equal(t, "one\n", get(t, l, "d/l"))
	require.Equal(t, "one\n", get(t, l, "d2/e/a.txt"))
	require.Equal(t, "季\n", get(t, l, Outputs+"/季度报告.md"))
	put(t, l, "d/e/a.txt", "two\n")
	put(t, l, "new/b.txt", "tool")
	require.Equal(t, "two\ntool", run(t, l, "cat d/e/a.txt new/b.txt").Stdout)
	require.Equal(t, "(no output)", run(t, l, "echo x >> new/b.txt && mv new/b.txt new/c.txt && rm -r d d2 && touch new/d").Text())
	require.Equal(t, "toolx\n", get(t, l, "new/c.txt"))
}

// J07: what a command or anybody else removes is made again.
func TestWalledDirectoryRemoved(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	put(t, l, "a", "x")
	run(t, l, "rm -rf /mnt/user-data/workspace /mnt/user-data/outputs")
	require.Equal(t, Workspace, run(t, l, "pwd").Text())
	require.NoError(t, l.provider.Remove(t.Context(), "u1", "t1"))
	require.Equal(t, "outputs\nuploads\nworkspace", run(t, l, "ls ..").Text())
}

func TestWalledMounts(t *testing.T) {
	t.Parallel()
	host := t.TempDir()
	for _, dir := range []string{"ro", "rw", "it's (1)"} {
		require.NoError(t, os.MkdirAll(filepath.Join(host, dir), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(host, dir, "m"), []byte(dir+"\n"), 0o600))
	}
	l := newWalled(t, func(_ *BubblewrapOptions, o *LocalOptions) {
		o.Mounts = []Mount{
			{Virtual: "/mnt/data/out", Host: filepath.Join(host, "rw")},
			{Virtual: "/mnt/data", Host: filepath.Join(host, "ro"), ReadOnly: true},
			{Virtual: "/srv/odd", Host: filepath.Join(host, "it's (1)")},
		}
	})
	r := run(t, l, "cat /mnt/data/m /mnt/data/out/m /srv/odd/m; echo x > /mnt/data/out/new; echo x > /mnt/data/new")
	require.Equal(t, "ro\nrw\nit's (1)\n", r.Stdout)
	require.Contains(t, r.Stderr, "Read-only file system")
	require.FileExists(t, filepath.Join(host, "rw/new"))
	require.NoFileExists(t, filepath.Join(host, "ro/new"))
	// A mount that went away takes only itself along.
	require.NoError(t, os.RemoveAll(filepath.Join(host, "it's (1)")))
	require.Equal(t, "ro", run(t, l, "cat /mnt/data/m").Text())
}

// J02: a command runs up to its limit, and no longer; the output so far is there.
func TestWalledTimeout(t *testing.T) {
	t.Parallel()
	l := newWalled(t, func(_ *BubblewrapOptions, o *LocalOptions) { o.BashTimeout = 3 * time.Second })
	require.Equal(t, "done\n", run(t, l, "sleep 0.2; echo done").Stdout)
	started := time.Now()
	r := run(t, l, "echo begun; sleep 700; echo never")
	require.True(t, r.TimedOut)
	require.Equal(t, "begun\nCommand timed out after 3s and was stopped.", r.Text())
	require.Less(t, time.Since(started), 30*time.Second)
}

// A command that heeds TERM may tidy up; one that does not is killed with all that
// it has started, wherever that has gone.
func TestWalledCancel(t *testing.T) {
	t.Parallel()
	l := newWalled(t, func(_ *BubblewrapOptions, o *LocalOptions) { o.BashTimeout = 200 * time.Millisecond })
	r := run(t, l, "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.01; done")
	require.True(t, r.TimedOut)
	require.Equal(t, "tidied\n", r.Stdout)

	mark := sleepMark()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && len(sleepers(mark)) < 4 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	started := time.Now()
	r, err := l.Exec(ctx, Command{Timeout: time.Minute, Line: fmt.Sprintf(`trap '' TERM; echo begun
(trap '' TERM; sleep %[1]s) & setsid sleep %[1]s & setsid env -i bash -c 'exec -a sleep sleep %[1]s' & sleep %[1]s & wait`, mark)})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "begun\n", r.Stdout)
	require.Less(t, time.Since(started), 30*time.Second)
	require.Empty(t, sleepers(mark), "they outlived the cancel")
	_, err = l.Exec(cancelled(t), Command{Line: "touch made"})
	require.ErrorIs(t, err, context.Canceled)
}

// A command that is called off before it has begun does not begin.
func TestWalledCalledOff(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		begun := time.Now()
		r, err := l.Exec(ctx, Command{Line: fmt.Sprintf("touch b%d; sleep 1000; touch e%[1]d", i)})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, r.Text())
		require.Less(t, time.Since(begun), 20*time.Second)
	}
	before := run(t, l, "ls").Text()
	require.NotContains(t, before, "e")
	require.Equal(t, before, run(t, l, "sleep 0.3; ls").Text(), "nothing begins later")
}

// Nothing that a command leaves in the background holds the call up or outlives it.
func TestWalledBackground(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	mark := sleepMark()
	started := time.Now()
	r := run(t, l, fmt.Sprintf("sleep %[1]s & setsid env -i sleep %[1]s & (setsid sh -c 'sleep %[1]s & sleep %[1]s' &) ; nohup sleep %[1]s & disown -a; echo started", mark))
	require.Equal(t, "started\n", r.Stdout)
	require.Less(t, time.Since(started), 10*time.Second)
	require.Empty(t, sleepers(mark))
}

// When the worker dies, its commands die.
func TestWalledCommandsDieWithTheirWorker(t *testing.T) {
	t.Parallel()
	walls(t, BubblewrapOptions{})
	mark := sleepMark()
	worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	worker.Env = append(os.Environ(), workerVariable+"="+filepath.Join(t.TempDir(), "users"), workerLine+"="+
		fmt.Sprintf("setsid env -i sleep %[1]s & sleep %[1]s & sleep %[1]s", mark))
	require.NoError(t, worker.Start())
	require.Eventually(t, func() bool { return len(sleepers(mark)) == 3 }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, worker.Process.Signal(syscall.SIGKILL))
	require.Error(t, worker.Wait())
	require.Eventually(t, func() bool { return len(sleepers(mark)) == 0 }, 5*time.Second, 5*time.Millisecond)
}

// A launcher that cannot do its work is the fault of the host.
func TestWalledFaults(t *testing.T) {
	t.Parallel()
	l := newWalled(t, nil)
	l.provider.runner.(*bubblewrap).system = append(l.provider.runner.(*bubblewrap).system, "--ro-bind", l.provider.root+"/gone", "/x")
	_, err := l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "bwrap: ")
	noHost(t, l, err.Error())
	l.provider.runner.(*bubblewrap).program = "/bin/false"
	_, err = l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.NoError(t, l.provider.Close())
	_, err = l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrUnavailable)
}

// A namespace that is not ready yet shows the processes of this host: they are not
// the command's.
func TestUseOfTheHostIsNotCounted(t *testing.T) {
	t.Parallel()
	require.Zero(t, countUse("/proc", 0))
	require.Zero(t, countUse(fmt.Sprintf("/proc/%d/root/proc", os.Getpid()), 1))
	require.Zero(t, countUse("/proc/none", 1))
}

// Where it does not work, the reason is told.
func TestBubblewrapNeedsItsProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := NewBubblewrap(t.Context(), BubblewrapOptions{})
	require.ErrorContains(t, err, "no program bwrap on the PATH")
	script := "#!/bin/sh\n[ \"$1\" = --help ] && exit 0\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o700))
	_, err = NewBubblewrap(t.Context(), BubblewrapOptions{})
	require.ErrorContains(t, err, "bubblewrap: bwrap: No permissions to create new namespace")
}

func TestHide(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"--tmpfs", "/usr/bin"}, hide("/usr/bin"))
	require.Equal(t, []string{"--ro-bind", "/dev/null", "/usr/bin/env"}, hide("/usr/bin/env"))
	for _, p := range []string{"", "/", "/root", "/home", "/usr/none", "/usr-local"} {
		require.Empty(t, hide(p), p)
	}
}

// sleepMark is an argument of sleep that no other test uses.
func sleepMark() string { return fmt.Sprintf("7%d.5", time.Now().UnixNano()%1e9) }

// sleepers are the processes of this host that sleep for so long.
func sleepers(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, file := range files {
		pid := filepath.Base(filepath.Dir(file))
		if line, err := os.ReadFile(file); err == nil && string(line) == "sleep\x00"+mark+"\x00" && alive(pid) {
			found = append(found, pid)
		}
	}
	return found
}
