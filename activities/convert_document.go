package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"deerflow/internal/documents"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/uploads"
)

// Documents converts documents to Markdown. The error of a document that cannot
// be converted is a [*documents.ConversionError].
type Documents interface {
	Convert(ctx context.Context, name string, r io.ReadSeeker) (documents.Document, error)
}

// ConvertDocument makes the text of an uploaded document. One that cannot be
// converted is a result; so is one that has its text already.
func (a *Activities) ConvertDocument(parent context.Context, in step.Conversion) (step.Converted, error) {
	ctx, done, err := alive(parent)
	if err != nil {
		return step.Converted{}, err
	}
	defer done()
	out, err := a.converted(ctx, in)
	return out, border(ctx, fmt.Sprintf("convert %s of thread %s", in.Name, in.Thread), err)
}

// converts reports whether documents are converted at all.
func (a *Activities) converts() bool {
	return a.o.Documents != nil && a.o.Config().Uploads.AutoConvertDocuments
}

// converted waits for the text of a document. A conversion that is under way in
// this process is waited for; it goes on when ctx ends first, since its text is
// of use all the same.
func (a *Activities) converted(ctx context.Context, in step.Conversion) (step.Converted, error) {
	conversion := a.conversions.DoChan(in.User+"/"+in.WorkflowID(), func() (any, error) {
		return a.convert(context.WithoutCancel(ctx), in)
	})
	select {
	case r := <-conversion:
		out, _ := r.Val.(step.Converted)
		return out, r.Err
	case <-ctx.Done():
		return step.Converted{}, ctx.Err()
	}
}

func (a *Activities) convert(ctx context.Context, in step.Conversion) (step.Converted, error) {
	if !a.converts() {
		return step.Converted{Reason: "documents are not converted here"}, nil
	}
	gone := step.Converted{Reason: "the file is gone"}
	d, err := a.uploadsOf(in.User, in.Thread)
	if errors.Is(err, fs.ErrNotExist) {
		return gone, nil
	}
	if err != nil {
		return step.Converted{}, err
	}
	defer func() { _ = d.Close() }()
	there := func() (fs.FileInfo, bool) {
		info, err := d.Stat(in.Name)
		return info, err == nil && info.Size() == in.Size
	}
	info, ok := there()
	if !ok {
		return gone, nil
	}
	if text, err := d.TextOf(in.Name); err != nil || text != "" {
		return step.Converted{Text: text}, err
	}
	f, err := d.Open(in.Name)
	if err != nil {
		return step.Converted{}, err
	}
	defer func() { _ = f.Close() }()
	doc, err := a.o.Documents.Convert(ctx, in.Name, f)
	var fault *documents.ConversionError
	if errors.As(err, &fault) {
		a.o.Logger.Warn("A document could not be converted", "thread", in.Thread, "name", in.Name, "reason", fault.Error())
		return step.Converted{Reason: fault.Reason}, nil
	}
	if err != nil {
		return step.Converted{}, err
	}
	if _, ok := there(); !ok {
		return gone, nil // it was deleted meanwhile
	}
	want := in.Want
	if want == "" {
		want = uploads.TextName(in.Name)
	}
	text, err := d.AddText(ctx, info, want, doc.Markdown)
	return step.Converted{Text: text, Pages: doc.Pages, Warning: doc.Warning}, err
}

// uploadsOf opens the upload directory of a thread. One that is not there is
// fs.ErrNotExist.
func (a *Activities) uploadsOf(user, threadID string) (*uploads.Directory, error) {
	return uploads.Open(a.o.UsersDir, sandbox.UserDir(user), threadID, false)
}
