package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

//go:embed bash.md
var bashText string

// bashSlack is how much longer than its command a call may take.
const bashSlack = 30 * time.Second

type bashParams struct {
	Description string `json:"description" jsonschema:"Why you run this command, in a few words. Give this argument first."`
	Command     string `json:"command" jsonschema:"The bash command. Use absolute paths for files and directories."`
}

// bash makes the tool that runs commands of at most timeout. notes are what else is
// to be known of them.
func bash(timeout time.Duration, notes string) (Tool, error) {
	if timeout <= 0 {
		timeout = sandbox.DefaultBashTimeout
	}
	return definition[bashParams]{
		name: "bash", description: strings.TrimSpace(bashText) + "\n" + notes, class: agent.ClassUnsafe, shell: "command", timeout: timeout + bashSlack,
		labelled: true,
		run: func(ctx context.Context, c Call, p bashParams) (Result, error) {
			return runBash(ctx, c, p, timeout)
		},
	}.build()
}

func runBash(ctx context.Context, c Call, p bashParams, timeout time.Duration) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	out, err := c.Env.Sandbox.Exec(ctx, sandbox.Command{Line: p.Command, Env: c.Env.CommandEnv, Timeout: timeout})
	r := Result{Error: out.TimedOut, Text: cutMiddle(out.Text(), c.Env.Limits.BashChars, func(skipped int) string {
		return fmt.Sprintf("\n... [truncated: %d characters in the middle left out] ...\n", skipped)
	})}
	var refused *sandbox.CommandError
	var away *sandbox.UnreachableError
	switch {
	case err == nil:
		if out.ExitCode != 0 && !out.TimedOut {
			r.setKwarg(thread.KeyExitCode, out.ExitCode)
		}
		return r, nil
	case errors.Is(err, sandbox.ErrHostBash):
		return failure("Host bash execution is disabled for the local sandbox: it would run commands on this computer without isolation. " +
			"Use the file tools instead, or ask the operator for an isolated sandbox or for sandbox.allow_host_bash."), nil
	case errors.As(err, &refused):
		return failure("%s", refused.Reason), nil
	case errors.As(err, &away):
		return failure("%v; bash was not run. Go on without it, or try again later.", away), nil
	case lost(ctx, err):
		return r, err // with the output so far
	}
	return failure("Unexpected error executing command: %s", c.Env.Sandbox.Mask(err.Error())), nil
}
