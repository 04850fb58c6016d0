package testkit

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
)

// Times that bound the start and the stop of a part.
const (
	partStart = time.Minute
	partStop  = 30 * time.Second
)

// Part is one process of the product when it runs as several: a worker, an API,
// or the Temporal server beside them. It can be killed and started again, at the
// same address. It is for the goroutine of its test.
type Part struct {
	// Addr is the host:port where it answers; empty for a worker and before the
	// first start.
	Addr string

	t     testing.TB
	name  string
	path  string
	env   []string
	dir   string
	args  func(addr string) []string // addr is where it answered before
	ready string                     // what the line begins with that ends with the address

	child  *child
	output string
}

// Start starts the process and waits until it says that it is ready. A failed
// start ends the test.
func (p *Part) Start() {
	p.t.Helper()
	p.Launch()
	p.AwaitReady()
}

// Launch starts the process and does not wait for it.
func (p *Part) Launch() {
	p.t.Helper()
	if err := p.launch(); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
}

func (p *Part) launch() error {
	output, err := os.CreateTemp(p.t.TempDir(), "output-*.log")
	if err != nil {
		return fmt.Errorf("open the output file: %w", err)
	}
	defer func() { _ = output.Close() }()
	cmd := exec.CommandContext(context.Background(), p.path, p.args(p.Addr)...)
	cmd.Dir, cmd.Env = p.dir, childEnv(p.dir, p.env)
	cmd.Stdout, cmd.Stderr = output, output
	c, err := startChild(cmd)
	if err != nil {
		return fmt.Errorf("run %s: %w", p.path, err)
	}
	p.child, p.output = c, output.Name()
	t, name, file := p.t, p.name, p.output
	p.t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("output of %s, pid %d:\n%s", name, c.cmd.Process.Pid, tail(file))
		}
	})
	return nil
}

// AwaitReady waits until a launched process says that it is ready.
func (p *Part) AwaitReady() {
	p.t.Helper()
	line := p.AwaitOutput(p.ready)
	if fields := strings.Fields(line); p.ready != workerReady && len(fields) > 0 {
		p.Addr = strings.TrimPrefix(fields[len(fields)-1], "http://")
	}
}

// AwaitOutput waits until the process has printed a whole line with the text,
// and gives the line. It ends the test when the process ends before.
func (p *Part) AwaitOutput(text string) string {
	p.t.Helper()
	deadline := time.NewTimer(partStart)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		for line := range strings.Lines(p.Output()) {
			if strings.HasSuffix(line, "\n") && strings.Contains(line, text) {
				return strings.TrimSuffix(line, "\n")
			}
		}
		select {
		case <-poll.C:
		case <-p.child.done:
			p.t.Fatalf("%s ended with exit code %d before it printed %q:\n%s", p.name, p.child.exitCode(), text, tail(p.output))
		case <-deadline.C:
			p.t.Fatalf("%s did not print %q within %v:\n%s", p.name, text, partStart, tail(p.output))
		}
	}
}

// Output is what the process has printed since its last start.
func (p *Part) Output() string {
	data, err := os.ReadFile(filepath.Clean(p.output))
	if err != nil {
		p.t.Errorf("read the output of %s: %v", p.name, err)
	}
	return string(data)
}

// Pid is the id of the process.
func (p *Part) Pid() int { return p.child.cmd.Process.Pid }

// Kill9 sends SIGKILL to the process, and to nothing else, and waits until it is
// gone.
func (p *Part) Kill9() { p.child.kill() }

// Stop sends SIGTERM and waits; it returns the exit code and how long the
// process took. One that does not end is killed and fails the test.
func (p *Part) Stop() (exitCode int, took time.Duration) {
	p.t.Helper()
	begin := time.Now()
	_ = p.child.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended already
	timer := time.NewTimer(partStop)
	defer timer.Stop()
	select {
	case <-p.child.done:
	case <-timer.C:
		p.child.kill()
		p.t.Errorf("%s, pid %d, still ran %v after SIGTERM and was killed", p.name, p.Pid(), partStop)
	}
	return p.child.exitCode(), time.Since(begin)
}
