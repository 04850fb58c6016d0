package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"deerflow/internal/sandbox"
)

// maxErrorText bounds the text of a failed write, in characters.
const maxErrorText = 2000

// What a file operation was doing, as its errors say it.
const (
	doingRead  = "reading file"
	doingWrite = "writing file"
	doingLook  = "looking into"
)

// lost reports whether an error is one of the infrastructure: it is handed to
// the caller, not to the model.
func lost(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, sandbox.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// fileAnswer turns the error of a file operation into what a model reads, or
// into the error of the call.
func fileAnswer(ctx context.Context, doing, asked string, err error) (Result, error) {
	if lost(ctx, err) {
		return Result{}, err
	}
	path, detail := asked, err.Error()
	var p *fs.PathError
	if errors.As(err, &p) {
		path, detail = p.Path, p.Err.Error()
	}
	var binary *sandbox.BinaryError
	switch {
	case errors.Is(err, sandbox.ErrTraversal):
		return failure("Access denied: path traversal in %q: a path must not contain \"..\". Use an absolute path under %s.", path, sandbox.UserData), nil
	case errors.Is(err, sandbox.ErrReadOnly):
		return failure("Permission denied %s: %s is read-only", doing, path), nil
	case errors.Is(err, sandbox.ErrOutside):
		return failure("Permission denied %s: %s is outside the allowed directories. Use a path under %s.", doing, path, sandbox.UserData), nil
	case errors.Is(err, sandbox.ErrHardLink):
		return failure("Permission denied %s: %s has another name outside the allowed directories", doing, path), nil
	case errors.Is(err, fs.ErrPermission) && doing == doingWrite:
		return failure("Permission denied %s: %s. Files can be written under %s, %s and %s.", doing, path, sandbox.Workspace, sandbox.Uploads, sandbox.Outputs), nil
	case errors.Is(err, fs.ErrPermission):
		return failure("Permission denied %s: %s", doing, path), nil
	case errors.Is(err, fs.ErrNotExist):
		return failure("File not found: %s", path), nil
	case errors.Is(err, sandbox.ErrIsDirectory):
		return failure("Path is a directory, not a file: %s", path), nil
	case errors.As(err, &binary):
		return failure("%s is a binary file (%s, %d bytes), not text. %s", path, binary.Kind, binary.Size, binaryAdvice(binary.Kind)), nil
	case errors.Is(err, sandbox.ErrChanged):
		return failure("%s was changed in the meantime, nothing was written. Read it again and repeat the change if it is still needed.", path), nil
	case errors.Is(err, sandbox.ErrTooLarge):
		return failure("%s is larger than %d MiB and cannot be edited as text. Use bash.", path, sandbox.MaxEdit>>20), nil
	}
	return Result{Error: true, Text: bounded(fmt.Sprintf("Error: Failed %s %s: %s", doing, path, detail), maxErrorText)}, nil
}

func binaryAdvice(kind string) string {
	switch kind {
	case "PNG image", "JPEG image", "GIF image", "WebP image":
		return "Use view_image to look at it."
	case "PDF document", "ZIP archive or Office document", "old Office document":
		return "There is no text of it. Use bash with a suitable program, or say that it cannot be read."
	}
	return "Use bash with a suitable program."
}

// directoryAnswer is fileAnswer for tools that look into a directory.
func directoryAnswer(ctx context.Context, asked string, err error) (Result, error) {
	path := asked
	var p *fs.PathError
	if errors.As(err, &p) {
		path = p.Path
	}
	switch {
	case lost(ctx, err):
		return Result{}, err
	case errors.Is(err, fs.ErrNotExist):
		return failure("Directory not found: %s", path), nil
	case errors.Is(err, sandbox.ErrNotDirectory):
		return failure("Path is not a directory: %s", path), nil
	case errors.Is(err, sandbox.ErrPattern):
		return failure("%v", errors.Unwrap(err)), nil
	}
	return fileAnswer(ctx, doingLook, asked, err)
}

// needsSandbox is the answer of a call that has none.
func needsSandbox() Result { return failure("No sandbox is available in this run.") }
