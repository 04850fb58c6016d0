package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
	// Notice is what the model should know about the sandbox itself, such as that
	// it was lost and made again; empty for nothing.
	Notice string
}

// Exec runs a command in the workspace by the provider's runner.
func (l *local) Exec(ctx context.Context, c Command) (ExecResult, error) {
	p := l.provider
	if p.runner == nil {
		return ExecResult{}, ErrHostBash
	}
	if err := ctx.Err(); err != nil {
		return ExecResult{}, err
	}
	check := checkLine
	if p.runner.HostPaths() {
		check = l.checkCommand
	}
	if err := check(c.Line); err != nil {
		return ExecResult{}, err
	}
	if err := checkEnv(c.Env); err != nil {
		return ExecResult{}, err
	}
	j := Job{
		User: l.user, Thread: l.thread, Line: c.Line, Dir: Workspace, Mounts: l.paths.all(),
		Env: maps.Clone(p.options.Environ), Timeout: cmp.Or(max(c.Timeout, 0), p.options.BashTimeout),
	}
	if j.Env == nil {
		j.Env = map[string]string{}
	}
	maps.Copy(j.Env, c.Env)
	if p.runner.HostPaths() {
		j.Line, j.Dir = l.paths.rewriteCommand(c.Line), filepath.Join(l.userData.command, "workspace")
	}
	before, err := l.makeDirectories()
	if err != nil {
		return ExecResult{}, err
	}
	r, err := p.runner.Run(ctx, j)
	// The command may have put something in the place of a directory. When that cannot
	// be put right now, the next call says why.
	after, _ := l.makeDirectories()
	r.Notice = joinNotices(before, r.Notice, after)
	r.Timeout = j.Timeout
	clean := outputCleaner(l.paths, c.Env)
	r.Stdout, r.Stderr = clean(r.Stdout), clean(r.Stderr)
	var refused *CommandError
	if err == nil || errors.Is(err, ctx.Err()) || errors.As(err, &refused) {
		return r, err
	}
	var away *UnreachableError
	if errors.As(err, &away) {
		return r, l.unreachable(away)
	}
	return r, fmt.Errorf("%w: start a command: %s", ErrUnavailable, l.Mask(err.Error()))
}

// joinNotices leaves out what is empty.
func joinNotices(notices ...string) string {
	return strings.Join(slices.DeleteFunc(notices, func(n string) bool { return n == "" }), "\n")
}
