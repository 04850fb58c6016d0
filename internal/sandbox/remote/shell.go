package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"deerflow/internal/sandbox"
)

// Bounds of a command's end.
const (
	scriptTimeout = time.Minute
	endTimeout    = 5 * time.Second
	// slack is how long the machine may take to tell that a command's time is over.
	slack = 2 * time.Second
)

// corrupted is in the output of a shell that has come out of step; the command did
// not run.
const corrupted = "ErrorObservation"

// noBashReason is for the model, and for the operator who reads over its shoulder.
const noBashReason = "This sandbox cannot run commands with environment variables: its image has no call for that " +
	"(/v1/bash/exec, in the image from version 1.9.3 on). The operator has to update the image."

type shellRequest struct {
	Command  string `json:"command"`
	ID       string `json:"id,omitempty"`
	NoChange int    `json:"no_change_timeout"`
}

type shellData struct {
	Output   string `json:"output"`
	ExitCode *int   `json:"exit_code"`
	Status   string `json:"status"` // running, completed, no_change_timeout, hard_timeout, terminated
}

type bashRequest struct {
	Command string            `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout int               `json:"hard_timeout"`
}

type bashData struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode *int   `json:"exit_code"`
	Status   string `json:"status"`
}

// run runs a command with the files of the thread. The error is [errLost] only when
// the command did not start.
func (m *machine) run(ctx context.Context, j sandbox.Job) (sandbox.ExecResult, error) {
	busy := time.NewTimer(j.Timeout)
	defer busy.Stop()
	select {
	case <-m.turn:
	case <-ctx.Done():
		return sandbox.ExecResult{}, ctx.Err()
	case <-busy.C:
		return sandbox.ExecResult{}, &sandbox.CommandError{Reason: "Another command still runs in this sandbox, and it takes one at a time. This one was not run."}
	}
	defer m.release()
	if err := m.copy(ctx); err != nil {
		return sandbox.ExecResult{}, fmt.Errorf("bring the files to the sandbox: %w", err)
	}
	result, err := m.command(ctx, j)
	if err != nil || ctx.Err() != nil {
		return result, err
	}
	var notices []string
	if m.remade.CompareAndSwap(true, false) {
		notices = append(notices, sandbox.Remade)
	}
	if err := m.copy(ctx); err != nil {
		m.log("The files of a command could not be fetched", "sandbox", m.id, "error", err)
		notices = append(notices, "[Notice: what this command changed could not be fetched from the sandbox yet, so file tools may see older files.]")
	}
	if m.partial {
		notices = append(notices, fmt.Sprintf("[Notice: the sandbox has more files than the %d that are kept outside of it; file tools see only those.]", maxFiles))
	}
	result.Notice = strings.Join(notices, "\n")
	return result, nil
}

// command runs a command, without looking after files.
func (m *machine) command(ctx context.Context, j sandbox.Job) (sandbox.ExecResult, error) {
	mark := uuid.NewString()
	limited, cancel := context.WithTimeout(ctx, j.Timeout+slack)
	defer cancel()
	var result sandbox.ExecResult
	var err error
	if len(j.Env) > 0 {
		result, err = m.withEnv(limited, j, mark)
	} else {
		result, err = m.inShell(limited, j, mark)
	}
	switch {
	case ctx.Err() != nil:
		m.endCommand(context.WithoutCancel(ctx), mark)
		return result, ctx.Err()
	case limited.Err() != nil:
		result, err = sandbox.ExecResult{TimedOut: true, ExitCode: -1}, nil
	case errors.Is(err, errTooMuch):
		return sandbox.ExecResult{Stderr: "[the output was too long to be fetched and is lost: write it to a file]"}, nil
	}
	if result.TimedOut {
		m.endCommand(ctx, mark)
	}
	if m.root != sandbox.UserData {
		result.Stdout, result.Stderr = sandbox.MaskRoot(result.Stdout, m.root), sandbox.MaskRoot(result.Stderr, m.root)
	}
	return result, err
}

// line is the command as the machine gets it. A directory that is missing does not
// swallow it.
func (m *machine) line(j sandbox.Job) string {
	line := j.Line
	if m.root != sandbox.UserData {
		line = sandbox.RewriteRoot(line, m.root)
	}
	return "cd " + quote(m.root+"/workspace") + "; " + line
}

// withEnv runs a command in a session of its own. Its environment is never part of the
// command's text, so a machine that has no call for it runs nothing.
func (m *machine) withEnv(ctx context.Context, j sandbox.Job, mark string) (sandbox.ExecResult, error) {
	if m.noBash.Load() {
		return sandbox.ExecResult{}, &sandbox.CommandError{Reason: noBashReason}
	}
	env := map[string]string{sandbox.MarkVariable: mark}
	for name, value := range j.Env {
		env[name] = value
	}
	begun := time.Now()
	out, err := m.bash(ctx, m.line(j), env, j.Timeout)
	if errors.Is(err, errNoEndpoint) {
		return sandbox.ExecResult{}, &sandbox.CommandError{Reason: noBashReason}
	}
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	result := sandbox.ExecResult{Stdout: bounded(out.Stdout), Stderr: bounded(out.Stderr), ExitCode: -1}
	if out.ExitCode != nil {
		result.ExitCode = *out.ExitCode
	}
	result.TimedOut = timedOut(out.Status) || out.ExitCode == nil && time.Since(begun) >= j.Timeout
	return result, nil
}

// bash runs a command in a session of its own, and remembers when there is no call for
// that.
func (m *machine) bash(ctx context.Context, line string, env map[string]string, timeout time.Duration) (bashData, error) {
	var out bashData
	err := m.api.post(ctx, "/v1/bash/exec", bashRequest{Command: line, Env: env, Timeout: seconds(timeout)}, &out)
	if errors.Is(err, errNoEndpoint) {
		m.noBash.Store(true)
	}
	return out, err
}

// inShell runs a command in the shell that this process has on the machine, where what
// one command exports is there for the next.
func (m *machine) inShell(ctx context.Context, j sandbox.Job, mark string) (sandbox.ExecResult, error) {
	line := "export " + sandbox.MarkVariable + "=" + mark + "; " + m.line(j)
	out, err := m.shell(ctx, line, j.Timeout)
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	result := sandbox.ExecResult{Stdout: bounded(out.Output), TimedOut: timedOut(out.Status), ExitCode: -1}
	switch {
	case out.ExitCode != nil:
		result.ExitCode = *out.ExitCode
	case out.Status == "completed":
		result.ExitCode = 0
	}
	if out.Status == "terminated" {
		m.session = "" // the command has ended its shell
	}
	return result, nil
}

// shell runs a command in the persistent shell. In one that is out of step nothing
// runs, so the command gets a new one, once.
func (m *machine) shell(ctx context.Context, line string, timeout time.Duration) (shellData, error) {
	var err error
	known := m.session != ""
	if !known {
		if m.session, err = m.newSession(ctx); err != nil {
			return shellData{}, err
		}
	}
	out, err := m.inSession(ctx, m.session, line, timeout)
	var failed *replyError
	if known && errors.As(err, &failed) && strings.Contains(strings.ToLower(failed.message), "session") {
		// The machine has forgotten the session, so it ran nothing.
		if m.session, err = m.newSession(ctx); err != nil {
			return shellData{}, err
		}
		out, err = m.inSession(ctx, m.session, line, timeout)
	}
	if err != nil || !outOfStep(out, line) {
		return out, err
	}
	m.log("The shell of a sandbox is out of step; the command gets a new one", "sandbox", m.id)
	if err := m.closeSession(ctx); err != nil {
		return out, err
	}
	fresh, err := m.newSession(ctx)
	if err != nil {
		return out, err
	}
	out, err = m.inSession(ctx, fresh, line, timeout)
	m.session = fresh
	if closed := m.closeSession(ctx); err == nil && closed != nil {
		m.log("A shell of a sandbox could not be ended", "sandbox", m.id, "error", closed)
	}
	return out, err
}

func (m *machine) inSession(ctx context.Context, id, line string, timeout time.Duration) (shellData, error) {
	var out shellData
	err := m.api.post(ctx, "/v1/shell/exec", shellRequest{Command: line, ID: id, NoChange: seconds(timeout)}, &out)
	return out, err
}

// outOfStep reports whether the shell ran nothing. Output that only speaks of it, as
// that of a search, must not run a command twice.
func outOfStep(out shellData, line string) bool {
	return strings.Contains(out.Output, corrupted) && len(out.Output) < 2000 && !strings.Contains(line, corrupted) &&
		(out.ExitCode == nil || *out.ExitCode != 0)
}

func timedOut(status string) bool {
	return status == "no_change_timeout" || status == "hard_timeout" || status == "running"
}

// seconds rounds up: the machine counts whole ones, and 0 is no limit there.
func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

// bounded keeps of an output what a result may hold.
func bounded(text string) string {
	var out sandbox.Output
	_, _ = out.Write([]byte(text)) // never fails
	return out.String()
}

// endCommand ends a command with all that it started.
func (m *machine) endCommand(ctx context.Context, mark string) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	// The shell first: while it waits for the command it takes no script.
	err := m.closeSession(ctx)
	if _, scriptErr := m.script(ctx, sandbox.EndScript(mark)); err == nil {
		err = scriptErr
	}
	if err != nil {
		m.log("Whether a command has ended in the sandbox is not known", "sandbox", m.id, "error", err)
	}
}

// script runs shell text of our own and gives its output.
func (m *machine) script(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	if !m.noBash.Load() {
		out, err := m.bash(ctx, text, nil, scriptTimeout)
		if err == nil && (out.ExitCode == nil || *out.ExitCode != 0) {
			err = fmt.Errorf("the sandbox could not do it: %.300s", strings.TrimSpace(out.Stderr+" "+out.Stdout))
		}
		if !errors.Is(err, errNoEndpoint) {
			return out.Stdout, err
		}
	}
	// In a shell of its own, so that nothing of a command before counts.
	out, err := m.shell(ctx, "bash -c "+quote(text), scriptTimeout)
	if err == nil && (out.ExitCode == nil || *out.ExitCode != 0) {
		err = fmt.Errorf("the sandbox could not do it: %.300s", strings.TrimSpace(out.Output))
	}
	return out.Output, err
}
