package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/uploads"
)

const (
	// mostUploads is how many files of a message are looked at: they ride in the
	// state.
	mostUploads = 20
	// outlineBytes is how much of a document is read for its outline.
	outlineBytes = 4 << 20
)

// uploaded are the files of a message that are there. What the message says of
// size and place is not relied on.
func (a *Activities) uploaded(ctx context.Context, in step.StartRunInput, m *thread.Message) ([]found, error) {
	named := uploads.In(m)
	if len(named) == 0 {
		return nil, nil
	}
	box, err := a.o.Sandboxes.Acquire(ctx, in.User, in.Thread)
	if err != nil {
		return nil, fmt.Errorf("look for the files of message %s: %w", m.ID, err)
	}
	var files []found
	for _, n := range named {
		if len(files) == mostUploads {
			a.o.Logger.Warn("A message names too many files; the model is told of the first", "message", m.ID, "told", mostUploads)
			break
		}
		at := path.Join(sandbox.Uploads, n.Name)
		info, ok := a.lookAt(ctx, box, at)
		if !ok {
			continue
		}
		f := found{status: n.Status, File: uploads.File{Name: n.Name, Path: at, Size: info.Size}}
		if text := textOf(n); text != "" {
			a.outline(ctx, box, &f.File, path.Join(sandbox.Uploads, text))
		}
		files = append(files, f)
	}
	return files, nil
}

// found is a file of a message.
type found struct {
	uploads.File
	status string
}

// textOf is the name of the file that has the text of a document.
func textOf(n uploads.Named) string {
	if n.Text != "" {
		return n.Text
	}
	return uploads.Converted(n.Name)
}

// lookAt describes a regular file, if there is one.
func (a *Activities) lookAt(ctx context.Context, box sandbox.Sandbox, at string) (sandbox.Info, bool) {
	info, err := box.Stat(ctx, at)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			a.o.Logger.Warn("A file of a message is left out", "file", at, "error", err)
		}
		return info, false
	}
	return info, info.Mode.IsRegular()
}

// outline reads what the text of a document is about. A document without one is
// named alone.
func (a *Activities) outline(ctx context.Context, box sandbox.Sandbox, f *uploads.File, at string) {
	r, _, err := box.Open(ctx, at)
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	outline, err := uploads.ReadOutline(io.LimitReader(r, outlineBytes))
	if err != nil {
		a.o.Logger.Warn("The outline of a document could not be read", "file", at, "error", err)
		return
	}
	f.Text, f.Outline = at, outline
}

func filesBlock(files []found) []thread.ContextBlock {
	if len(files) == 0 {
		return nil
	}
	list := make([]uploads.File, len(files))
	for i := range files {
		list[i] = files[i].File
	}
	return []thread.ContextBlock{uploads.Block(list)}
}

func uploadsState(files []found) []thread.UploadedFile {
	list := make([]thread.UploadedFile, len(files))
	for i := range files {
		f := &files[i]
		list[i] = thread.UploadedFile{Filename: f.Name, Size: f.Size, Path: f.Path, Status: f.status}
	}
	return list
}
