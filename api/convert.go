package api

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"deerflow/internal/step"
	"deerflow/internal/uploads"
)

// Documents has the text of uploaded documents made, in a worker. The errors are
// those of package threadclient.
type Documents interface {
	// Convert waits for the text for as long as ctx lives.
	Convert(ctx context.Context, in step.Conversion) (step.Converted, error)
}

// conversionWait is how long an upload waits for the texts of its documents. What
// takes longer appears later.
const conversionWait = 20 * time.Second

// convert has the texts of the documents made. An upload succeeds without them:
// the start of a run makes those that it misses.
func (u *uploading) convert(ctx context.Context) {
	if u.s.o.Documents == nil || !u.s.o.Settings().ConvertDocuments {
		return
	}
	var documents []*fileShape
	var names []string
	for i := range u.files {
		if f := &u.files[i]; uploads.Convertible(f.Filename) {
			documents, names = append(documents, f), append(names, f.Filename)
		}
	}
	if len(documents) == 0 {
		return
	}
	wants, err := u.s.o.Files.TextNames(ctx, u.owner, names)
	if err != nil {
		u.s.o.Logger.Warn("The texts of documents are made without names of their own", "thread", u.owner.Thread, "error", err)
		wants = make([]string, len(names))
	}
	ctx, cancel := context.WithTimeout(ctx, u.s.o.ConversionWait)
	defer cancel()
	var all sync.WaitGroup
	for i, f := range documents {
		all.Go(func() {
			out, err := u.s.o.Documents.Convert(ctx, step.Conversion{
				User: u.owner.User, Thread: u.owner.Thread, Name: f.Filename, Size: f.Size, Want: wants[i],
			})
			switch {
			case err == nil:
				f.converted(u.owner, out)
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				u.s.o.Logger.Info("A document is still being converted", "thread", u.owner.Thread, "name", f.Filename)
			default:
				u.s.o.Logger.Warn("A document is not converted now", "thread", u.owner.Thread, "name", f.Filename, "error", err)
			}
		})
	}
	all.Wait()
}

// converted shows what came of the conversion of the file.
func (f *fileShape) converted(o FileOwner, out step.Converted) {
	f.ConversionWarning, f.ConversionError = out.Warning, out.Reason
	f.hasText(o, out.Text)
}

// hasText shows the text of the file.
func (f *fileShape) hasText(o FileOwner, name string) {
	if name == "" {
		return
	}
	f.MarkdownFile = name
	f.MarkdownPath = path.Join(VirtualRoot, dirUploads, name)
	f.MarkdownVirtualPath = f.MarkdownPath
	f.MarkdownArtifactURL = artifactURL(o.Thread, f.MarkdownPath)
}
