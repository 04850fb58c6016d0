package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Errors of file operations, found with errors.Is.
var (
	// ErrTraversal: the path has a ".." segment.
	ErrTraversal = errors.New(`path traversal: ".." is not allowed in a path`)
	// ErrOutside: the path, or a link on its way, leads out of the directories
	// that the sandbox shows. It is a permission error too.
	ErrOutside = fmt.Errorf("outside the allowed directories: %w", fs.ErrPermission)
	// ErrReadOnly: nothing can be written there. It is a permission error too.
	ErrReadOnly = fmt.Errorf("read-only: %w", fs.ErrPermission)
	// ErrHardLink: the file has another name outside its mount. It is a
	// permission error too.
	ErrHardLink = fmt.Errorf("hard link to a file outside: %w", fs.ErrPermission)
	// ErrIsDirectory and ErrNotDirectory: the other kind was wanted.
	ErrIsDirectory  = errors.New("is a directory")
	ErrNotDirectory = errors.New("is not a directory")
	// ErrNotRegular: a pipe, socket or device.
	ErrNotRegular = errors.New("is not a regular file")
	// ErrBinary: the file is no text.
	ErrBinary = errors.New("is a binary file")
	// ErrTooLarge: the file is larger than can be edited.
	ErrTooLarge = errors.New("is too large to be edited")
	// ErrChanged: the file is not what the writer expected it to be.
	ErrChanged = errors.New("was changed in the meantime")
	// ErrPattern: a glob pattern that cannot be used.
	ErrPattern = errors.New("invalid glob pattern")
	// ErrUnavailable: the sandbox itself failed, not what was asked of it; the
	// same call may work elsewhere or later.
	ErrUnavailable = errors.New("sandbox is not available")
	// ErrHostBash: commands of the host are switched off.
	ErrHostBash = errors.New("host bash execution is disabled")

	errEmptyPath = errors.New("the path is empty")
	errNULPath   = errors.New("the path has a NUL character")
)

// BinaryError is [ErrBinary] with what the file seems to be.
type BinaryError struct {
	Kind string // "PNG image", "ZIP archive", "binary data", ...
	Size int64
}

func (e *BinaryError) Error() string {
	return fmt.Sprintf("is a binary file (%s, %d bytes)", e.Kind, e.Size)
}

// Is makes the error an [ErrBinary].
func (e *BinaryError) Is(target error) bool { return target == ErrBinary }

// UnreachableError says that the machine of a sandbox cannot be had: nothing was run. It is
// an [ErrUnavailable]. Err is the reason in words for a model.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the sandbox cannot be reached (%v)", e.Err)
}

// Unwrap gives the reason.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is makes the error an [ErrUnavailable].
func (e *UnreachableError) Is(target error) bool { return target == ErrUnavailable }

// CommandError is the refusal of a command; Reason is a sentence for the model.
type CommandError struct{ Reason string }

func (e *CommandError) Error() string { return e.Reason }

// pathError gives err the virtual path of what was asked for. Whatever path the
// operating system named is left out: it is one of the host.
func pathError(op, virtual string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known *fs.PathError
	if errors.As(err, &known) && known.Path == virtual && known.Op == op {
		return err
	}
	return &fs.PathError{Op: op, Path: virtual, Err: cause(err)}
}

// cause reduces an error of the os package to what went wrong.
func cause(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case syscall.EISDIR:
			return ErrIsDirectory
		case syscall.ENOTDIR:
			return ErrNotDirectory
		case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
			return fmt.Errorf("%w: %w", ErrUnavailable, errno)
		default:
			return errno
		}
	}
	// os.Root has no exported error for a name that leads out of it.
	if strings.Contains(err.Error(), "path escapes from parent") {
		return ErrOutside
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
