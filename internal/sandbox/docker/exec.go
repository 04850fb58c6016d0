package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"deerflow/internal/sandbox"
)

// Figures of the end of a command.
const (
	// firstLook and longestLook are the pauses between two questions whether a
	// command has ended while something still holds its output.
	firstLook   = 50 * time.Millisecond
	longestLook = time.Second
	// pipeGrace is how long output is still read when the command has ended but a
	// child in the background holds the pipe.
	pipeGrace = 200 * time.Millisecond
	// endTimeout is how long a command may take to end when it is told to.
	endTimeout = 5 * time.Second
)

// launcher runs a command. It keeps the process id of the shell for the end of the
// command, so that one that empties its environment is found too, and ends the command
// itself when its time is long over: the worker that would do it may have died. The
// arguments are the command, the file of the process id, and the seconds.
const launcher = `echo $$ >"$1"
(trap 'kill $!; exit' TERM; sleep "$2" & wait $! && kill -KILL -$$) >/dev/null 2>&1 &
w=$!
if command -v bash >/dev/null; then bash -c "$0"; else sh -c "$0"; fi
s=$?
kill $w
rm -f "$1"
exit $s`

// overtime is how long after its time a command ends by itself.
const overtime = 10 * time.Second

// exec runs a command in a container. The error is [errLost] when it did not start
// because there is no container.
func (r *Runner) exec(ctx context.Context, m *machine, j sandbox.Job) (sandbox.ExecResult, error) {
	mark := uuid.NewString()
	env := make([]string, 0, len(j.Env)+1)
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		env = append(env, name+"="+j.Env[name])
	}
	env = append(env, sandbox.MarkVariable+"="+mark)
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c, err := r.start(ctx, watched, m, client.ExecCreateOptions{
		User: r.o.User, Env: env, WorkingDir: j.Dir, AttachStdout: true, AttachStderr: true,
		Cmd: []string{"/bin/sh", "-c", launcher, j.Line, pidFile(mark), strconv.Itoa(int((j.Timeout + overtime).Seconds()))},
	})
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	defer c.stream.Close()
	clock := time.NewTimer(j.Timeout)
	defer clock.Stop()
	var result sandbox.ExecResult
	select {
	case err = <-c.ended:
	case <-ctx.Done():
		err = ctx.Err()
	case <-clock.C:
		result.TimedOut = true
	}
	if ctx.Err() != nil || result.TimedOut {
		r.endCommand(context.WithoutCancel(ctx), m, c, mark)
	}
	result.Stdout, result.Stderr, result.ExitCode = c.stdout.String(), c.stderr.String(), c.exitCode()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return result, err
}

func pidFile(mark string) string { return "/tmp/.run-" + mark }

// command is one that runs in a container.
type command struct {
	runner         *Runner
	id             string
	stream         client.ExecAttachResult
	stdout, stderr sandbox.Output
	copied         chan struct{} // closed at the end of the output
	ended          chan error    // what ended it: nil, or that it is not known
	code           int           // set before ended
	known          chan struct{} // closed when code is set
}

// start starts a command; it is watched until the second context ends.
func (r *Runner) start(ctx, watched context.Context, m *machine, o client.ExecCreateOptions) (*command, error) {
	made, err := r.docker.ExecCreate(ctx, m.id, o)
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // a conflict: it does not run
		return nil, errLost
	}
	if err != nil {
		return nil, &sandbox.UnreachableError{Err: fmt.Errorf("prepare a command in the container: %w", err)}
	}
	stream, err := r.docker.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		// The engine forgets the commands of a container with it.
		if found, inspectErr := r.docker.ExecInspect(ctx, made.ID, client.ExecInspectOptions{}); errdefs.IsNotFound(inspectErr) ||
			inspectErr == nil && !found.Running && r.gone(ctx, m) {
			return nil, errLost
		}
		return nil, fmt.Errorf("start a command in the container: %w", err)
	}
	c := &command{
		runner: r, id: made.ID, stream: stream, copied: make(chan struct{}), ended: make(chan error, 1), known: make(chan struct{}),
	}
	go func() {
		defer close(c.copied)
		// It ends with the stream, also when that is cut: what became of the command
		// is asked for by its id.
		_, _ = stdcopy.StdCopy(&c.stdout, &c.stderr, stream.Reader)
	}()
	go c.watch(watched)
	return c, nil
}

// gone reports whether the container is not there, or does not run.
func (r *Runner) gone(ctx context.Context, m *machine) bool {
	found, err := r.docker.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	return errdefs.IsNotFound(err) || err == nil && found.Container.State != nil && !found.Container.State.Running
}

// watch waits for the end of the command: at the end of its output, or when the
// engine says so while a child in the background holds the pipe.
func (c *command) watch(ctx context.Context) {
	copied := c.copied
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		select {
		case <-copied:
			copied = nil // the shell may have closed its output and go on
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		found, err := c.runner.docker.ExecInspect(ctx, c.id, client.ExecInspectOptions{})
		switch {
		case err != nil && copied != nil && !errdefs.IsNotFound(err):
			continue // the engine has a bad moment; the command goes on
		case err != nil:
			c.ended <- fmt.Errorf("the container was lost while the command ran: %w", err)
			return
		case found.Running:
			continue
		}
		select {
		case <-c.copied:
		case <-time.After(pipeGrace):
		}
		c.code = found.ExitCode
		close(c.known)
		c.ended <- nil
		return
	}
}

// exitCode is the command's, -1 when it has none.
func (c *command) exitCode() int {
	select {
	case <-c.known:
		return c.code
	default:
		return -1
	}
}

// endCommand ends a command with all that it started. One that cannot be ended ends
// with the container.
func (r *Runner) endCommand(ctx context.Context, m *machine, c *command, mark string) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	script := strings.Join([]string{
		fmt.Sprintf("g=$(cat %[1]s 2>/dev/null) && rm -f %[1]s && kill -TERM -$g 2>/dev/null", pidFile(mark)),
		sandbox.EndScript(mark),
		"[ -n \"$g\" ] && kill -KILL -$g 2>/dev/null",
		":",
	}, "\n")
	// It has no mark, so it does not end itself.
	made, err := r.docker.ExecCreate(ctx, m.id, client.ExecCreateOptions{User: r.o.User, Cmd: []string{"/bin/sh", "-c", script}})
	if err == nil {
		_, err = r.docker.ExecStart(ctx, made.ID, client.ExecStartOptions{Detach: true})
	}
	if err == nil {
		select {
		case lost := <-c.ended:
			if lost != nil {
				r.o.Logger.Warn("How a command ended is not known", "container", m.id, "error", lost)
			}
			return
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if errdefs.IsNotFound(err) {
		return
	}
	r.o.Logger.Warn("A command does not end; its container is removed", "container", m.id, "error", err)
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := r.remove(ctx, m.id); err != nil {
		r.o.Logger.Warn("The container of a command that does not end could not be removed", "error", err)
	}
}
