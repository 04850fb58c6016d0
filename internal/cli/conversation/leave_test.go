package conversation

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
)

// holdingRun goes on until the test ends it.
func holdingRun(t *testing.T) fakeserver.Run {
	t.Helper()
	run := answeringRun("At last.")
	run.Hold = make(chan struct{})
	run.Events = []string{`messages [{"type":"ai","id":"m1","content":"","tool_calls":[{"id":"c1","name":"bash","args":{"command":"sleep 9"}}]},{}]`, `updates {"model":{"messages":[{"type":"ai","id":"m1","content":""}]}}`}
	return run
}

func TestSignalLeavesTheRunAndTellsHowToComeBack(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"t1"}
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, s).interruptAt("• bash sleep 9")
	c.Thread, c.Format, c.Flags = "t1", cli.FormatJSON, []string{"--server", "http://box:2026"}
	c.ends(cli.ExitInterrupted)
	require.Contains(t, c.errOut.String(), "Interrupted. The run goes on without this terminal.\n  thread t1\n  run    run-1\n"+
		"Come back with:\n  deerflow run --server http://box:2026 --thread t1 --attach\n")
	require.Equal(t, Result{ThreadID: "t1", RunID: "run-1", Status: "running", Files: []File{}}, c.result())
	require.Empty(t, s.Cancels())

	back := newCall(t, s)
	back.Question, back.Thread, back.Attach = "", "t1", true
	go func() {
		waitFor(t, &back.errOut, "• bash sleep 9\n")
		close(s.Script[0].Hold)
	}()
	require.NoError(t, back.run(cli.ExitDone))
	require.Equal(t, "At last.\n", back.out.String())
}

func TestSignalCanCancel(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, s).interruptAt("• bash sleep 9")
	c.CancelOnInterrupt = true
	c.ends(cli.ExitInterrupted)
	require.Equal(t, []string{"run-1"}, s.Cancels())
	require.Equal(t, "At last.\n", c.out.String(), "what there was of an answer is printed")
	require.Contains(t, c.errOut.String(), "Interrupted: the run is cancelled.")
}

func TestTimeoutLeavesTheRun(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, s)
	c.Timeout = 300 * time.Millisecond
	c.ends(cli.ExitTimeout)
	require.Contains(t, c.errOut.String(), "The time limit has passed. ")
	require.Empty(t, s.Cancels())
}

func TestSecondSignalEndsTheProcess(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, nil).interruptAt("• bash sleep 9")
	stopping := make(chan struct{})
	c.StartServer = func(context.Context) (string, func(context.Context) error, error) {
		return s.URL, func(context.Context) error {
			c.signals <- syscall.SIGTERM
			require.Equal(t, int(cli.ExitInterrupted), <-c.exits)
			close(stopping)
			return nil
		}, nil
	}
	c.ends(cli.ExitInterrupted)
	<-stopping
}

func TestSignalBeforeAnythingWasStarted(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = in.Close(), out.Close() }()
	c.Question, c.In = "-", in
	c.signals <- syscall.SIGTERM
	require.EqualError(t, c.run(cli.ExitInterrupted), "interrupted: nothing was started")
}

func TestSignalWhileTheServerStarts(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	c.StartServer = func(ctx context.Context) (string, func(context.Context) error, error) {
		c.signals <- syscall.SIGINT
		<-ctx.Done()
		return "", nil, ctx.Err()
	}
	require.ErrorContains(t, c.run(cli.ExitInterrupted), "nothing was started")
}

func TestOwnServerIsStoppedAndTheRunKept(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t), answeringRun("Yes.")}
	c := newCall(t, nil).interruptAt("• bash sleep 9")
	stopped := 0
	c.StartServer = func(context.Context) (string, func(context.Context) error, error) {
		announce(t, c.DataDir, s.URL)
		return s.URL, func(ctx context.Context) error {
			require.NoError(t, ctx.Err())
			stopped++
			return errors.New("a part hangs")
		}, nil
	}
	c.ends(cli.ExitInterrupted)
	require.Equal(t, 1, stopped)
	text := c.progress()
	require.Contains(t, text, "No server is running: one is started on "+c.DataDir+" for this run.\n")
	require.Contains(t, text, "Temporal: http://SERVER/temporal/namespaces/default/workflows/thread%2FTHREAD\n")
	require.Contains(t, text, "the run is kept in "+c.DataDir+" and goes on at the next start there")
	require.Contains(t, text, "The server did not stop in order: a part hangs")
}
