package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func run(t *testing.T, l *local, line string) ExecResult {
	t.Helper()
	r, err := l.Exec(t.Context(), Command{Line: line})
	require.NoError(t, err)
	return r
}

func TestExec(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "in.txt", "hello\n")
	for _, c := range []struct{ line, want string }{
		{"cat in.txt", "hello"},
		{"cat /mnt/user-data/workspace/in.txt", "hello"},
		{"pwd; pwd -P", Workspace + "\n" + Workspace},
		{"echo out; echo err >&2", "out\nStd Error:\nerr"},
		{"exit 3", "Exit Code: 3"},
		{"echo x; exit 3", "x\nExit Code: 3"},
		{"true", "(no output)"},
		{"kill -9 $$", "Exit Code: 137"},
		{"cat", "(no output)"}, // standard input is empty
		{"echo hi > /mnt/user-data/outputs/o.txt && cat ../user-data/x 2>/dev/null || true", ""},
		{"printf 'a\\xffb'", "a\uFFFDb"},
		{"echo a b | while read x y; do echo $y; done", "b"},
		{"[[ abc == a* ]] && echo bash", "bash"},
		{"no_such_program_here 2>/dev/null", "Exit Code: 127"},
	} {
		r, err := l.Exec(t.Context(), Command{Line: c.line})
		if c.want == "" {
			var refusal *CommandError
			require.ErrorAs(t, err, &refusal)
			continue
		}
		require.NoError(t, err, c.line)
		require.Equal(t, c.want, r.Text(), c.line)
	}
	r := run(t, l, "python3 -c 1/0 || ls /mnt/user-data/workspace/nope")
	noHost(t, l, r.Text())
	require.Contains(t, r.Text(), "/mnt/user-data/workspace/nope")
}

func TestExecDisabled(t *testing.T) {
	t.Parallel()
	l := newBox(t, func(o *LocalOptions) { o.AllowHostBash = false })
	_, err := l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrHostBash)
}

// J05, 10.4-14: commands see an allow-list of variables.
func TestExecEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-1", "PGPASSFILE": "x", "MYSQL_PWD": "x", "DATABASE_URL": "postgres://x", "DEERFLOW_DATA_DIR": "/x",
		"DEER_FLOW_HOME": "x", "TEMPORAL_ADDRESS": "x", "SOMETHING": "x", "LC_API_TOKEN": "x", "BASH_ENV": "/x", "LD_PRELOAD": "",
		"http_proxy": "http://user:pass@proxy:1", "https_proxy": "http://proxy:1", "TZ": "Asia/Shanghai",
	} {
		t.Setenv(name, value)
	}
	l := newBox(t, func(o *LocalOptions) { o.Environ = map[string]string{"MODE": "test"} })
	r, err := l.Exec(t.Context(), Command{
		Line: "env", Env: map[string]string{"SKILL_TOKEN": "abc", "GH_TOKEN": "a-long-secret", "LONGER": "a-long-secret-and-more"},
	})
	require.NoError(t, err)
	env := map[string]string{}
	for line := range strings.Lines(r.Stdout) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	for _, name := range []string{
		"OPENAI_API_KEY", "PGPASSFILE", "MYSQL_PWD", "DATABASE_URL", "DEERFLOW_DATA_DIR", "DEER_FLOW_HOME", "TEMPORAL_ADDRESS",
		"SOMETHING", "LC_API_TOKEN", "BASH_ENV", "LD_PRELOAD", "http_proxy",
	} {
		require.NotContains(t, env, name)
	}
	require.NotEmpty(t, env["PATH"])
	require.Equal(t, Workspace, env["HOME"])
	require.Equal(t, Workspace, env["PWD"])
	require.Equal(t, "Asia/Shanghai", env["TZ"])
	require.Equal(t, "http://proxy:1", env["https_proxy"])
	require.Equal(t, "test", env["MODE"])
	// 10.4-15: what is long enough to be a secret does not come out again
	require.Equal(t, "abc", env["SKILL_TOKEN"])
	require.Equal(t, "[redacted]", env["GH_TOKEN"])
	require.Equal(t, "[redacted]", env["LONGER"])

	for _, bad := range []map[string]string{{"A-B": "x"}, {"": "x"}, {"1A": "x"}, {"A": "x\x00"}} {
		_, err := l.Exec(t.Context(), Command{Line: "env", Env: bad})
		var refusal *CommandError
		require.ErrorAs(t, err, &refusal)
	}
}

// I05: names beyond ASCII come out of commands as they are.
func TestExecUnicodeNames(t *testing.T) {
	t.Setenv("LANG", "")
	t.Setenv("LC_ALL", "")
	l := newBox(t, nil)
	put(t, l, "季度报告（终稿）.md", "x")
	require.Equal(t, "季度报告（终稿）.md\n", run(t, l, "ls").Stdout)
}

// J02, 10.4-13: a silent command runs up to its limit, and no longer.
func TestExecTimeout(t *testing.T) {
	t.Parallel()
	l := newBox(t, func(o *LocalOptions) { o.BashTimeout = 3 * time.Second })
	r := run(t, l, "sleep 0.2; echo done")
	require.Equal(t, "done\n", r.Stdout)
	require.False(t, r.TimedOut)
	started := time.Now()
	r = run(t, l, "echo begun; sleep 700; echo never")
	require.True(t, r.TimedOut)
	require.Equal(t, "begun\nCommand timed out after 3s and was stopped.", r.Text())
	require.Less(t, time.Since(started), 30*time.Second)
	r, err := l.Exec(t.Context(), Command{Line: "sleep 3.2; echo own", Timeout: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "own\n", r.Stdout)
}

// M03, M04: the whole group is gone when a command was cancelled, also what
// ignores TERM, and the output so far is there.
func TestExecCancel(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(l.host(Workspace + "/pids")); err == nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	started := time.Now()
	r, err := l.Exec(ctx, Command{Line: `trap '' TERM
echo begun
(trap '' TERM; while :; do sleep 0.05; done) & a=$!
sleep 600 & b=$!
echo $$ $a $b > p && mv p pids
while :; do sleep 0.05; done`})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "begun\n", r.Stdout)
	require.Less(t, time.Since(started), 30*time.Second)
	for _, pid := range strings.Fields(get(t, l, "pids")) {
		require.False(t, alive(pid), "process %s outlived the cancel", pid)
	}
	_, err = l.Exec(cancelled(t), Command{Line: "touch made"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = l.Stat(t.Context(), "made")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A command that heeds TERM may tidy up.
func TestExecTermFirst(t *testing.T) {
	t.Parallel()
	l := newBox(t, func(o *LocalOptions) { o.BashTimeout = 200 * time.Millisecond })
	r := run(t, l, "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.01; done")
	require.True(t, r.TimedOut)
	require.Equal(t, "tidied\n", r.Stdout)
}

// A child in the background does not hold the call up, may go on writing, and
// ends with the provider.
func TestExecBackground(t *testing.T) {
	t.Parallel()
	p := newLocal(t, nil)
	l := acquire(t, p, "u1", "t1")
	started := time.Now()
	r := run(t, l, "(while :; do echo tick; echo x >> ticks; sleep 0.02; done) & echo $!")
	require.Less(t, time.Since(started), 3*time.Second)
	pid := strings.Fields(strings.ReplaceAll(r.Stdout, "tick", ""))[0]
	require.True(t, alive(pid))
	before, err := l.Stat(t.Context(), "ticks")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		after, err := l.Stat(context.WithoutCancel(t.Context()), "ticks")
		return err == nil && after.Size > before.Size+4
	}, 5*time.Second, 10*time.Millisecond, "it was ended by a closed pipe")
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool { return !alive(pid) }, 5*time.Second, 5*time.Millisecond)
	_, err = l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrUnavailable)
}

// What is more than 10 MiB of one stream is dropped while it is read.
func TestExecOutputCap(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	r := run(t, l, "head -c 12000000 /dev/zero | tr '\\0' x; echo short >&2")
	require.Less(t, len(r.Stdout), maxCapture+100)
	require.True(t, strings.HasSuffix(r.Stdout, fmt.Sprintf("%d more bytes were dropped]", 12_000_000-maxCapture)))
	require.Equal(t, "short\n", r.Stderr)
}

// Many commands at once keep to their own threads.
func TestExecConcurrently(t *testing.T) {
	t.Parallel()
	p := newLocal(t, nil)
	var wg sync.WaitGroup
	for i := range 12 {
		l := acquire(t, p, "u1", fmt.Sprint("t", i%3))
		wg.Go(func() {
			r, err := l.Exec(t.Context(), Command{Line: fmt.Sprintf("echo %d; pwd", i)})
			if err != nil || r.Stdout != fmt.Sprintf("%d\n%s\n", i, Workspace) {
				t.Errorf("%v %q", err, r.Stdout)
			}
		})
	}
	wg.Wait()
}

// A shell that cannot be started is the fault of the host.
func TestExecErrorsAreMasked(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	l.provider.runner.(*hostShell).shell = filepath.Join(l.provider.root, "no-shell")
	_, err := l.Exec(t.Context(), Command{Line: "true"})
	require.ErrorIs(t, err, ErrUnavailable)
	noHost(t, l, err.Error())
	require.NotErrorIs(t, err, context.Canceled)
}
