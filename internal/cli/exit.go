package cli

import (
	"errors"
	"fmt"
)

// ExitCode is what a command tells the shell.
type ExitCode int

// The exit codes of every command.
const (
	ExitDone        ExitCode = 0   // finished
	ExitFailed      ExitCode = 1   // failed
	ExitUsage       ExitCode = 2   // wrong usage or configuration; nothing was started
	ExitPartial     ExitCode = 3   // finished early, with a partial result
	ExitWaiting     ExitCode = 4   // waits for a person's answer
	ExitUnreachable ExitCode = 10  // the server, or a part that it needs, cannot be reached
	ExitNotFound    ExitCode = 11  // no such thread or run
	ExitAuth        ExitCode = 12  // refused: not authenticated, or not allowed
	ExitTimeout     ExitCode = 124 // the time limit has passed
	ExitInterrupted ExitCode = 130 // interrupted by a signal, or the run was stopped
)

// ExitError ends a command with an exit code. Err is what is printed for it; nil prints nothing, since the command has
// said it all.
type ExitError struct {
	Code ExitCode
	Err  error
}

// Error is the text of the error it carries, or names the code.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the error it carries.
func (e *ExitError) Unwrap() error { return e.Err }

// Exitf makes an [ExitError] with a formatted message; %w wraps as in [fmt.Errorf].
func Exitf(code ExitCode, format string, args ...any) error {
	return &ExitError{Code: code, Err: fmt.Errorf(format, args...)}
}

// CodeOf is the exit code of an error: 0 for nil, that of an [ExitError], otherwise fallback.
func CodeOf(err error, fallback ExitCode) ExitCode {
	if err == nil {
		return ExitDone
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return fallback
}
