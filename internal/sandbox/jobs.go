package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"deerflow/internal/descriptors"
)

// jobs runs commands and keeps the pipes of those that left something in the
// background.
type jobs struct {
	mu      sync.Mutex
	closed  bool
	open    map[*capture]struct{}
	readers sync.WaitGroup
}

func newJobs() *jobs { return &jobs{open: map[*capture]struct{}{}} }

// close frees the pipes that are still held.
func (j *jobs) close() {
	j.mu.Lock()
	j.closed = true
	for c := range j.open {
		_ = c.pipe.Close()
	}
	j.mu.Unlock()
	j.readers.Wait()
}

// capture begins to read a stream.
func (j *jobs) capture(pipe *os.File) (*capture, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errors.New("the provider is closed")
	}
	c := newCapture(pipe)
	j.open[c] = struct{}{}
	j.readers.Go(func() {
		c.read()
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.open, c)
	})
	return c, nil
}

// control is how a runner takes part in the life of a command. Only end is needed.
type control struct {
	thread func()                      // runs on the thread that starts the process, which is then used for nothing else
	begun  func()                      // the process has been started
	stop   <-chan struct{}             // closed when the command must be ended
	end    func(ended <-chan struct{}) // ends it before its time
	over   func()                      // it has ended, one way or the other
}

// run runs a command to its end, the context's end, the timeout or the runner's
// word, whichever is first. The error is the context's, or why the command could not
// be started.
func (j *jobs) run(ctx context.Context, cmd *exec.Cmd, timeout time.Duration, c control) (ExecResult, error) {
	stdout, outWriter, err := j.pipe()
	if err != nil {
		return ExecResult{}, err
	}
	stderr, errWriter, err := j.pipe()
	if err != nil {
		_ = outWriter.Close()
		return ExecResult{}, err
	}
	cmd.Stdout, cmd.Stderr = outWriter, errWriter
	ended, err := start(cmd, c.thread, outWriter, errWriter)
	if err != nil {
		return ExecResult{}, err
	}
	if c.begun != nil {
		c.begun()
	}
	var r ExecResult
	early := true
	clock := time.NewTimer(timeout)
	defer clock.Stop()
	select {
	case <-ended:
		early = false
	case <-ctx.Done():
		err = ctx.Err()
	case <-clock.C:
		r.TimedOut = true
	case <-c.stop:
	}
	if early {
		c.end(ended)
	}
	if c.over != nil {
		c.over()
	}
	grace := time.NewTimer(pipeGrace)
	defer grace.Stop()
	for _, s := range []*capture{stdout, stderr} {
		select {
		case <-s.done:
		case <-grace.C:
			grace.Reset(0) // the grace is one for both
		}
	}
	r.Stdout, r.Stderr = stdout.take(), stderr.take()
	r.ExitCode = exitCode(cmd, ended)
	return r, err
}

// pipe makes a stream: what is written to the file is captured.
func (j *jobs) pipe() (*capture, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	c, err := j.capture(r)
	if err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, err
	}
	return c, w, nil
}

// start starts a command and waits for it in the background. The parent-death
// signal of Linux comes when the thread that forked ends, not the process, so
// one goroutine forks, keeps its thread locked, and waits on it: the thread lives
// as long as the command. The channel is closed when the command has been reaped.
// What change does to the thread stays there: it ends with the command then.
func start(cmd *exec.Cmd, change func(), writers ...*os.File) (<-chan struct{}, error) {
	ended, started := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if change != nil {
			change()
		} else {
			defer runtime.UnlockOSThread()
		}
		descriptors.Keep() // no wall stands in front of an open descriptor
		err := cmd.Start()
		for _, w := range writers {
			_ = w.Close() // the command has its own
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in cmd.ProcessState
		}
		close(ended)
	}()
	return ended, <-started
}

// exitCode follows the shell's rule: 128 and the number of the signal that ended
// the command.
func exitCode(cmd *exec.Cmd, ended <-chan struct{}) int {
	select {
	case <-ended:
	default:
		return -1 // it does not even end by KILL
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
