package devserver

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrLocked is matched by the error of [Start] when another process, or another server in this one, has the data
// directory. The error itself is a [*LockedError].
var ErrLocked = errors.New("data directory is in use")

// LockedError says who has the data directory.
type LockedError struct {
	// Dir is the absolute path of the data directory.
	Dir string
	// PID is the process that holds it, 0 if it is not known.
	PID int
}

// Error names the directory, the holder and what to do.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the data directory %s is in use by %s: stop it first, or use another data directory", e.Dir, holder)
}

// Is reports whether target is [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// What a [PortError] is about.
const (
	frontendName = "the Temporal frontend"
	webUIName    = "the Temporal Web UI"
)

// PortError says that a requested port cannot be used. Nothing has been started or written when it is returned.
type PortError struct {
	// Port on 127.0.0.1 that was asked for.
	Port int
	// What wanted it, in words.
	What string
	// Err is the system's answer.
	Err error
}

// Error names the port, what wanted it and what to do.
func (e *PortError) Error() string {
	if errors.Is(e.Err, syscall.EADDRINUSE) {
		return fmt.Sprintf("port %d for %s is already in use on %s: stop the program that listens there, "+
			"or choose another port with %s (0 picks a free one)", e.Port, e.What, loopback, e.flag())
	}
	return fmt.Sprintf("port %d for %s cannot be opened on %s: %v: choose another port with %s (0 picks a free one)",
		e.Port, e.What, loopback, e.Err, e.flag())
}

// flag is the one of the command line that chooses the port.
func (e *PortError) flag() string {
	if e.What == webUIName {
		return "--temporal-ui-port"
	}
	return "--temporal-port"
}

// Unwrap returns the system's answer.
func (e *PortError) Unwrap() error { return e.Err }
