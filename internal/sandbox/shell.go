package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// Figures of the end of a command.
const (
	// killDelay is how long a command that was told to end may take.
	killDelay = 100 * time.Millisecond
	// pipeGrace is how long output is still read when the shell has ended but a
	// child in the background holds the pipe.
	pipeGrace = 200 * time.Millisecond
)

// hostShell runs commands on this host, as the user of this process.
type hostShell struct {
	shell   string
	owner   string       // marks the commands of this runner
	started atomic.Int64 // commands, for their marks
	jobs    *jobs
}

var _ Runner = (*hostShell)(nil)

func newHostShell() *hostShell {
	return &hostShell{shell: findShell(), owner: newOwner(), jobs: newJobs()}
}

// Name is "local".
func (*hostShell) Name() string { return localName }

// HostPaths is true: there is no wall.
func (*hostShell) HostPaths() bool { return true }

// Notes are for a model that is used to a machine of its own.
func (*hostShell) Notes() string {
	return "- Absolute paths are understood in the command itself; inside scripts use relative paths.\n" +
		"- Start a long-running server in the background and send its output to a file."
}

// Run runs a command with bash in a process group of its own. When the context
// ends or the time is up, the group gets TERM, and KILL 100 ms later; what has left
// the group and kept its environment gets KILL. When this process dies, the shell
// dies with it.
func (h *hostShell) Run(ctx context.Context, j Job) (ExecResult, error) {
	// The context ends the group below, not the shell alone.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), h.shell, "-c", j.Line) //nolint:gosec // running it is the point
	cmd.Dir = j.Dir
	mark := fmt.Sprintf("%s/%d", h.owner, h.started.Add(1))
	cmd.Env = h.environ(j, mark)
	cmd.SysProcAttr = processAttributes()
	return h.jobs.run(ctx, cmd, j.Timeout, control{end: func(ended <-chan struct{}) {
		endGroup(cmd.Process.Pid, ended)
		h.endEscaped(mark)
	}})
}

// Remove does nothing: what a thread has left in the background ends with the
// runner.
func (*hostShell) Remove(context.Context, string, string) error { return nil }

// Close ends the commands that were left in the background.
func (h *hostShell) Close() error {
	endCommands(func(o string) bool { return strings.HasPrefix(o, h.owner+"/") })
	h.jobs.close()
	return nil
}

// endEscaped kills what a command has put out of its process group, until nothing
// new turns up.
func (*hostShell) endEscaped(mark string) {
	for range 10 {
		if endCommands(func(owner string) bool { return owner == mark }) == 0 {
			return
		}
	}
}

// findShell is the shell that commands run in. Models write for bash.
func findShell() string {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/zsh", "/bin/sh"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	if name, err := exec.LookPath("bash"); err == nil {
		return name
	}
	return "sh"
}
