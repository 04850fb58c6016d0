package remote

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
	"deerflow/internal/testkit"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	require.Equal(t, "remote:u:t", box.ID())
	r := run(t, box, "echo out; echo err >&2; (exit 3)")
	require.Equal(t, sandbox.ExecResult{Stdout: "out\nerr\n", ExitCode: 3, Timeout: time.Minute}, r)
	require.Regexp(t, `^export SANDBOX_OWNER=[-0-9a-f]+; cd /mnt/user-data/workspace; echo out;`, b.Commands()[0])
}

func TestCommandWithSecrets(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	r, err := box.Exec(t.Context(), sandbox.Command{Line: `echo "got $TOKEN"; echo bad >&2`, Env: map[string]string{"TOKEN": "s3cret-value"}})
	require.NoError(t, err)
	require.Equal(t, sandbox.ExecResult{Stdout: "got [redacted]\n", Stderr: "bad\n", Timeout: time.Minute}, r)
	require.NotContains(t, strings.Join(b.Bodies, "\n"), "s3cret-value")
}

// An old image has no call for an environment: nothing runs, no secret gets into a
// command, and it is remembered.
func TestOldImage(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	b.NoBash = true
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	for range 3 {
		_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo $TOKEN", Env: map[string]string{"TOKEN": "s3cret-value"}})
		var refused *sandbox.CommandError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Reason, "1.9.3")
	}
	asked := 0
	for _, c := range b.Calls {
		if c == "POST /v1/bash/exec" {
			asked++
		}
	}
	require.Equal(t, 1, asked)
	require.NotContains(t, strings.Join(b.Bodies, "\n"), "s3cret-value")
	require.Empty(t, b.Commands())
	// Other commands work, and so do files, by way of the shell.
	require.Equal(t, "1\n", run(t, box, "echo 1; echo made > /mnt/user-data/outputs/o.txt").Stdout)
	require.Equal(t, "made\n", read(t, box, "/mnt/user-data/outputs/o.txt"))
}

func TestShellOutOfStep(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	run(t, box, "true")
	b.Set(func() { b.Corrupt = 1 })
	require.Equal(t, "once\n", run(t, box, "echo once").Stdout)
	require.Len(t, b.Commands(), 3)
	require.Empty(t, b.Sessions, "neither the broken session nor that of the retry stays")

	b.Set(func() { b.Corrupt = 9 })
	require.Contains(t, run(t, box, "echo never").Stdout, corrupted, "it is retried once")
	require.Len(t, b.Commands(), 5)

	b.Set(func() { b.Corrupt = 0 })
	require.Contains(t, run(t, box, "echo ErrorObservation; false").Stdout, corrupted)
	require.Len(t, b.Commands(), 6, "output that only speaks of it is no sign")
}

func TestForgottenSession(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	run(t, box, "true")
	b.Set(func() { b.Forgetful, b.Sessions = true, map[string]bool{} })
	require.Equal(t, "again\n", run(t, box, "echo again").Stdout)
}

func TestTimeoutAndStop(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, through(testkit.NewCluster(t, b)), t.TempDir()), "t")
	for name, env := range map[string]map[string]string{"shell": nil, "with environment": {"A": "b"}} {
		t.Run(name, func(t *testing.T) {
			// The output does not stop, so the machine's own limit is not met.
			r, err := box.Exec(t.Context(), sandbox.Command{Line: "while :; do echo x; sleep 0.1; done", Env: env, Timeout: time.Second})
			require.NoError(t, err)
			require.True(t, r.TimedOut)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			_, err = box.Exec(ctx, sandbox.Command{Line: "setsid sleep 300 & sleep 300", Env: env})
			require.True(t, isCanceled(err), err)
			require.Less(t, time.Since(start), 30*time.Second)
			require.Eventually(t, func() bool {
				var live int
				b.Set(func() { live = len(b.Running) })
				return live == 0
			}, 30*time.Second, 10*time.Millisecond)
			require.Equal(t, "next\n", run(t, box, "echo next").Stdout)
		})
	}
}

func TestCommandsGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	c := testkit.NewCluster(t, b)
	p := provider(t, through(c), t.TempDir())
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			box, err := p.Acquire(context.WithoutCancel(t.Context()), "u", "t")
			if err != nil {
				t.Error(err)
				return
			}
			r, err := box.Exec(context.WithoutCancel(t.Context()), sandbox.Command{Line: "mkdir busy && sleep 0.1 && rmdir busy"})
			if err != nil || r.ExitCode != 0 {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	group.Wait()
	require.Len(t, c.Creates, 1, "two first calls at once make one machine")
	require.Equal(t, sandbox.MachineID("u", "t"), c.Creates[0].ID)
	require.Equal(t, "t", c.Creates[0].Thread)

	held := make(chan struct{})
	box := acquire(t, p, "t")
	go func() {
		defer close(held)
		_, _ = box.Exec(context.Background(), sandbox.Command{Line: "echo > held; sleep 4"})
	}()
	require.Eventually(t, func() bool { return b.Read("workspace/held") == "\n" }, 30*time.Second, 10*time.Millisecond)
	_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo 1", Timeout: time.Second})
	require.ErrorContains(t, err, "Another command still runs")
	<-held
}

func TestTwoThreadsOnOneMachine(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	root := t.TempDir()
	p := provider(t, Options{BaseURL: b.URL()}, root)
	one, two := acquire(t, p, "one"), acquire(t, p, "two")
	require.Equal(t, "/mnt/user-data/workspace\n", run(t, one, "pwd; echo 1 > /mnt/user-data/workspace/who.txt").Stdout)
	require.Equal(t, "No such file\n", run(t, two, "cat /mnt/user-data/workspace/who.txt 2>/dev/null || echo No such file").Stdout)
	run(t, two, "echo 2 > who.txt")
	require.Equal(t, "1\n", read(t, one, "who.txt"))
	require.Equal(t, "2\n", read(t, two, "who.txt"))
	require.NoError(t, p.Remove(t.Context(), "u", "one"))
	left, err := os.ReadDir(b.Dir + "/home/.deerflow")
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(b *testkit.Machine)
		want    string
		refused bool
	}{
		"not JSON":        {func(b *testkit.Machine) { b.Reply = "<html>" }, `not of its API: "<html>"`, false},
		"other JSON":      {func(b *testkit.Machine) { b.Reply = `{"a":1}` }, "not of its API", false},
		"data of a kind":  {func(b *testkit.Machine) { b.Reply = `{"success":true,"data":[1]}` }, "not of its API", false},
		"says no":         {func(b *testkit.Machine) { b.Reply = `{"success":false,"message":"disk full"}` }, "disk full", false},
		"does not answer": {func(b *testkit.Machine) { b.Status = http.StatusBadGateway }, "was not ready within", false},
		"wrong key":       {func(b *testkit.Machine) { b.Key = "other" }, "sandbox.api_key", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := testkit.NewMachine(t)
			tt.prepare(b)
			o := through(testkit.NewCluster(t, b))
			o.Ready = 200 * time.Millisecond
			box := acquire(t, provider(t, o, t.TempDir()), "t")
			_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo 1"})
			require.ErrorContains(t, err, tt.want)
			var refused *sandbox.CommandError
			if tt.refused {
				require.ErrorAs(t, err, &refused)
			} else {
				require.ErrorIs(t, err, sandbox.ErrUnavailable)
			}
			// Files are here.
			write(t, box, "a.txt", "x")
			require.Equal(t, "x", read(t, box, "a.txt"))
		})
	}
}

// Connections to a fixed address are refused: that is told soon, and as something
// else than a lost command. A machine that has just been made is waited for.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	url := b.URL()
	b.Stop()
	box := acquire(t, provider(t, Options{BaseURL: url, Ready: time.Hour, Refused: 50 * time.Millisecond}, t.TempDir()), "t")
	for what, do := range map[string]func() error{
		"prepare": func() error { return box.(sandbox.Preparer).Prepare(t.Context()) },
		"exec": func() error {
			_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo 1"})
			return err
		},
	} {
		err := do()
		var away *sandbox.UnreachableError
		require.ErrorAs(t, err, &away, what)
		require.ErrorIs(t, err, sandbox.ErrUnavailable, what)
		require.Regexp(t, `^the sandbox cannot be reached \([^(]*connection refused\)$`, err.Error(), what)
	}

	o := through(testkit.NewCluster(t, b))
	o.Ready, o.Refused = 300*time.Millisecond, time.Nanosecond
	_, err := acquire(t, provider(t, o, t.TempDir()), "t").Exec(t.Context(), sandbox.Command{Line: "echo 1"})
	require.ErrorContains(t, err, "was not ready within 300ms")
}

// A machine that goes for good between two commands: the second was not run.
func TestMachineThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	box := acquire(t, provider(t, Options{BaseURL: b.URL(), Refused: 50 * time.Millisecond}, t.TempDir()), "t")
	run(t, box, "true")
	b.Stop()
	_, err := box.Exec(t.Context(), sandbox.Command{Line: "true"})
	var away *sandbox.UnreachableError
	require.ErrorAs(t, err, &away)
	require.ErrorContains(t, err, "make the machine anew")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	c := testkit.NewCluster(t, b)
	require.NoError(t, Check(t.Context(), through(c)))
	require.ErrorContains(t, Check(t.Context(), Options{ProvisionerURL: c.URL(), ProvisionerKey: "bad"}), "sandbox.provisioner_api_key")
	require.NoError(t, Check(t.Context(), Options{BaseURL: b.URL()}))
	b.Set(func() { b.Key = "k" })
	require.ErrorContains(t, Check(t.Context(), Options{BaseURL: b.URL()}), "sandbox.api_key")
	b.Stop()
	require.ErrorContains(t, Check(t.Context(), Options{BaseURL: b.URL()}), "the sandbox at "+b.URL())
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	b.Key = "k"
	o := through(testkit.NewCluster(t, b))
	o.APIKey = "k"
	require.Equal(t, "1\n", run(t, acquire(t, provider(t, o, t.TempDir()), "t"), "echo 1").Stdout)
}

func TestProvisionerFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		reply   string
		key     string
		want    string
		refused bool
	}{
		"wrong key":   {0, "", "bad", "sandbox.provisioner_api_key", true},
		"no room":     {http.StatusServiceUnavailable, `{"code":"SANDBOX_CAPACITY_EXCEEDED","retry_after":5}`, "pk", "No sandbox is free", true},
		"broken":      {http.StatusInternalServerError, "boom", "pk", "500: boom", false},
		"no such way": {http.StatusNotFound, "", "pk", "404", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testkit.NewCluster(t, testkit.NewMachine(t))
			c.Status, c.Reply = tt.status, tt.reply
			o := through(c)
			o.ProvisionerKey = tt.key
			box := acquire(t, provider(t, o, t.TempDir()), "t")
			_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo 1"})
			require.ErrorContains(t, err, tt.want)
			var refused *sandbox.CommandError
			require.Equal(t, tt.refused, asRefused(err, &refused))
			err = box.(sandbox.Preparer).Prepare(t.Context())
			if tt.refused {
				require.NoError(t, err, "the command will say so")
			} else {
				require.ErrorIs(t, err, sandbox.ErrUnavailable)
			}
			c.Set(func() { c.Status = 0 })
			if tt.key == "pk" {
				require.Equal(t, "1\n", run(t, box, "echo 1").Stdout, "a failure leaves nothing behind")
			}
		})
	}
}

func TestRemoveAndClose(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	c := testkit.NewCluster(t, b)
	p := provider(t, through(c), t.TempDir())
	run(t, acquire(t, p, "t"), "true")
	require.NoError(t, p.Close())
	require.Empty(t, c.Deletes, "other processes use it")
	require.Empty(t, b.Sessions)

	p = provider(t, through(c), t.TempDir())
	require.NoError(t, p.Remove(t.Context(), "u", "t"))
	require.NoError(t, p.Remove(t.Context(), "u", "t"), "404 means gone")
	require.Equal(t, "DELETE /api/sandboxes/"+sandbox.MachineID("u", "t"), c.Deletes[0])
}

func TestIdleMachineEndsWithItsFilesKept(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	c := testkit.NewCluster(t, b)
	o := through(c)
	o.Idle = 2 * time.Second
	box := acquire(t, provider(t, o, t.TempDir()), "t")
	run(t, box, "true")
	require.NoError(t, os.WriteFile(b.Dir+"/mnt/user-data/workspace/late.txt", []byte("late"), 0o644))
	require.Eventually(t, func() bool {
		var ended int
		c.Set(func() { ended = len(c.Deletes) })
		return ended == 1
	}, 60*time.Second, 20*time.Millisecond)
	require.Equal(t, "late", read(t, box, "late.txt"))
}
