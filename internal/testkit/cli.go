package testkit

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// CLIOptions says how to run one command.
type CLIOptions struct {
	// BinaryPath is the program; empty means [Binary].
	BinaryPath string
	// Stdin is what the command reads; nil means an empty input.
	Stdin io.Reader
	// Env has further environment entries, "KEY=value"; see [DevOptions].
	Env []string
	// Dir is the working directory; empty means a new temporary one.
	Dir string
	// Timeout bounds the command; 0 means a minute.
	Timeout time.Duration
}

// RunCLI runs the binary with args until it ends and returns what it printed
// and its exit code, -1 when a signal ended it. A command that outlasts the
// timeout is killed and fails the test.
func RunCLI(t testing.TB, args []string, o CLIOptions) (stdout, stderr string, exitCode int) {
	t.Helper()
	if o.BinaryPath == "" {
		o.BinaryPath = Binary(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(context.Background(), o.BinaryPath, args...)
	cmd.Dir, cmd.Env = o.Dir, childEnv(o.Dir, o.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, &out, &errs
	cmd.WaitDelay = 2 * time.Second // a grandchild may keep the pipes open
	c, err := startChild(cmd)
	if err != nil {
		t.Fatalf("run %s %s: %v", o.BinaryPath, strings.Join(args, " "), err)
	}
	timer := time.NewTimer(o.Timeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.kill()
		t.Errorf("deerflow %s still ran after %v and was killed\nstdout:\n%s\nstderr:\n%s",
			strings.Join(args, " "), o.Timeout, out.String(), errs.String())
	}
	return out.String(), errs.String(), c.exitCode()
}
