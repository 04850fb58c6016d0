package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
	"deerflow/internal/uploads"
)

const (
	// mostUploads is how many files of a message are looked at: they ride in the
	// state.
	mostUploads = 20
	// outlineBytes is how much of a document is read for its outline.
	outlineBytes = 4 << 20
	// conversionWait is how long the start of a run waits for texts that are not
	// there yet.
	conversionWait = 15 * time.Second
)

// uploaded are the files of a message that are there. What the message says of
// size and place is not relied on.
func (a *Activities) uploaded(ctx context.Context, in step.StartRunInput, m *thread.Message) ([]found, error) {
	named := uploads.In(m)
	if len(named) == 0 {
		return nil, nil
	}
	d, err := a.uploadsOf(in.User, in.Thread)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, uploads.ErrElsewhere) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the files of message %s: %w", m.ID, err)
	}
	defer func() { _ = d.Close() }()
	var files []found
	for _, n := range named {
		if len(files) == mostUploads {
			a.o.Logger.Warn("A message names too many files; the model is told of the first", "message", m.ID, "told", mostUploads)
			break
		}
		name, err := d.Find(n.Name)
		if err != nil {
			continue
		}
		info, err := d.Stat(name)
		if err != nil {
			a.o.Logger.Warn("A file of a message is left out", "message", m.ID, "file", name, "error", err)
			continue
		}
		files = append(files, found{named: n, File: uploads.File{Name: name, Path: path.Join(sandbox.Uploads, name), Size: info.Size()}})
	}
	return files, a.texts(ctx, in, d, files)
}

// found is a file of a message.
type found struct {
	uploads.File
	named uploads.Named
}

// texts finds the texts of documents, and waits for those that are to come.
func (a *Activities) texts(ctx context.Context, in step.StartRunInput, d *uploads.Directory, files []found) error {
	all, err := d.Files()
	if err != nil {
		return fmt.Errorf("look for the texts of documents: %w", err)
	}
	known := d.Texts(all)
	ctx, cancel := context.WithTimeout(ctx, a.conversionWait)
	defer cancel()
	for i := range files {
		f := &files[i]
		text := known[f.Name]
		if _, err := d.Stat(f.named.Text); f.named.Text != "" && err == nil {
			text = f.named.Text
		}
		if text == "" && uploads.Convertible(f.Name) && a.converts() {
			text, f.NoText = a.awaitText(ctx, in, f)
		}
		if text != "" {
			a.outline(d, &f.File, text)
		}
	}
	return nil
}

// awaitText is the name of the text of a document, or says why there is none.
func (a *Activities) awaitText(ctx context.Context, in step.StartRunInput, f *found) (text, reason string) {
	out, err := a.converted(ctx, step.Conversion{User: in.User, Thread: in.Thread, Name: f.Name, Size: f.Size})
	switch {
	case err == nil:
		return out.Text, out.Reason
	case ctx.Err() != nil:
		return "", "it is still being made: look for " + uploads.TextName(f.Name) + " later"
	}
	a.o.Logger.Warn("A document was not converted", "thread", in.Thread, "file", f.Name, "error", err)
	return "", "it could not be made"
}

// outline reads what the text of a document is about. A text that cannot be read
// is none.
func (a *Activities) outline(d *uploads.Directory, f *uploads.File, text string) {
	r, err := d.Open(text)
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	outline, err := uploads.ReadOutline(io.LimitReader(r, outlineBytes))
	if err != nil {
		a.o.Logger.Warn("The outline of a document could not be read", "file", text, "error", err)
		return
	}
	f.Text, f.Outline = path.Join(sandbox.Uploads, text), outline
}

func filesBlock(files []found, plan *agent.Plan) []thread.ContextBlock {
	if len(files) == 0 {
		return nil
	}
	list := make([]uploads.File, len(files))
	for i := range files {
		list[i] = files[i].File
	}
	return []thread.ContextBlock{uploads.Block(list, func(tool string) bool {
		_, has := plan.Summary.Tool(tool)
		return has
	})}
}

func uploadsState(files []found) []thread.UploadedFile {
	list := make([]thread.UploadedFile, len(files))
	for i := range files {
		f := &files[i]
		list[i] = thread.UploadedFile{Filename: f.Name, Size: f.Size, Path: f.Path, Status: f.named.Status}
	}
	return list
}

// currentUploads are the names of the files that came with the messages of a
// run. They are only asked for by the tool that lists the others.
func (a *Activities) currentUploads(ctx context.Context, in step.CallToolInput) []string {
	if in.Name != tools.ListUploadedFiles {
		return nil
	}
	rows, err := a.o.Store.RunInput(ctx, in.Thread, in.Run)
	if err != nil {
		a.o.Logger.Warn("The files of a run's messages could not be looked up", "run", in.Run, "error", err)
	}
	var names []string
	for i := range rows {
		for _, n := range uploads.In(&rows[i].Message) {
			names = append(names, n.Name)
		}
	}
	return names
}
