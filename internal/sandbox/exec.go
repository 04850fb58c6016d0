package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
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

// Command is a shell command.
type Command struct {
	Line string // shell text with virtual paths
	// Env is set in the command beside its small environment. Values of eight
	// characters and more are secrets: they are taken out of the output.
	Env map[string]string
	// Timeout bounds the command; 0 means the provider's own.
	Timeout time.Duration
}

// ExecResult is what a command left. Output is valid UTF-8 with the paths of the
// host masked, at most 10 MiB a stream.
type ExecResult struct {
	Stdout   string
	Stderr   string
	ExitCode int // 128 and the signal's number when a signal ended it
	// TimedOut: the command was ended because it took longer than Timeout.
	TimedOut bool
	Timeout  time.Duration // that applied
}

// Exec runs a command with bash in the workspace, in a process group of its own.
// When the context ends or the time is up, the group gets TERM, and KILL 100 ms
// later; what has left the group and kept its environment gets KILL. When this
// process dies, the shell dies with it.
func (l *local) Exec(ctx context.Context, c Command) (ExecResult, error) {
	p := l.provider
	if !p.options.AllowHostBash {
		return ExecResult{}, ErrHostBash
	}
	if err := ctx.Err(); err != nil {
		return ExecResult{}, err
	}
	if err := l.checkCommand(c.Line); err != nil {
		return ExecResult{}, err
	}
	if err := checkEnv(c.Env); err != nil {
		return ExecResult{}, err
	}
	if err := l.makeDirectories(); err != nil {
		return ExecResult{}, err
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = p.options.BashTimeout
	}
	workspace := filepath.Join(l.userData.command, "workspace")
	// The context ends the group below, not the shell alone.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.shell, "-c", l.paths.rewriteCommand(c.Line)) //nolint:gosec // running it is the point
	cmd.Dir = workspace
	mark := fmt.Sprintf("%s/%d", p.owner, p.started.Add(1))
	cmd.Env = p.environ(workspace, c.Env, mark)
	cmd.SysProcAttr = processAttributes()

	r, err := p.jobs.run(ctx, cmd, timeout, func() { p.endEscaped(mark) })
	r.Timeout = timeout
	clean := outputCleaner(l.paths, c.Env)
	r.Stdout, r.Stderr = clean(r.Stdout), clean(r.Stderr)
	if err != nil && !errors.Is(err, ctx.Err()) {
		return r, fmt.Errorf("%w: start a command: %s", ErrUnavailable, l.Mask(err.Error()))
	}
	return r, err
}

// endEscaped kills what a command has put out of its process group, until nothing
// new turns up.
func (p *Local) endEscaped(mark string) {
	for range 10 {
		if p.endCommands(func(owner string) bool { return owner == mark }) == 0 {
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
