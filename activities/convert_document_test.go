package activities

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/documents"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/uploads"
)

// converter makes texts as the content of a document says.
type converter struct {
	calls   atomic.Int32
	release chan struct{} // nil: it answers at once
	meet    func()        // is called before the answer
}

func (c *converter) Convert(ctx context.Context, _ string, r io.ReadSeeker) (documents.Document, error) {
	c.calls.Add(1)
	data, err := io.ReadAll(r)
	if err != nil {
		return documents.Document{}, err
	}
	if c.release != nil {
		select {
		case <-c.release:
		case <-ctx.Done():
			return documents.Document{}, ctx.Err()
		}
	}
	if c.meet != nil {
		c.meet()
	}
	switch string(data) {
	case "locked":
		return documents.Document{}, &documents.ConversionError{Reason: "it is protected by a password"}
	case "away":
		return documents.Document{}, errors.New("no converter")
	}
	return documents.Document{Markdown: "# " + string(data) + "\n", Pages: 2, Warning: "w"}, nil
}

// document puts a file into the upload directory of a thread.
func (w *world) document(threadID, name, content string) step.Conversion {
	w.t.Helper()
	dir := filepath.Join(w.dir, "default", "threads", threadID, "user-data", "uploads")
	require.NoError(w.t, os.MkdirAll(dir, 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	return step.Conversion{Version: 1, User: "default", Thread: threadID, Name: name, Size: int64(len(content))}
}

func (w *world) convert(in step.Conversion) (step.Converted, error) {
	w.t.Helper()
	var out step.Converted
	value, err := w.env.ExecuteActivity(step.ConvertDocument, in)
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

func (w *world) uploaded(threadID string) []string {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "default", "threads", threadID, "user-data", "uploads"))
	require.NoError(w.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestConvertDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &converter{}
	w.acts.o.Documents = c
	in := w.document("t1", "a.pdf", "One")
	in.Want = "b.md"
	w.document("t1", "b.md", "mine")
	out, err := w.convert(in)
	require.NoError(t, err)
	require.Equal(t, step.Converted{Text: "b_1.md", Pages: 2, Warning: "w"}, out)
	again, err := w.convert(in)
	require.NoError(t, err)
	require.Equal(t, step.Converted{Text: "b_1.md"}, again, "an attempt after a crash finds what there is")
	require.EqualValues(t, 1, c.calls.Load())

	// I07: what cannot be converted leaves no name behind.
	out, err = w.convert(w.document("t1", "c.pdf", "locked"))
	require.NoError(t, err)
	require.Equal(t, step.Converted{Reason: "it is protected by a password"}, out)
	_, err = w.convert(w.document("t1", "d.pdf", "away"))
	require.ErrorContains(t, err, "no converter", "what is not the document's fault is tried again")
	require.Equal(t, []string{"a.pdf", "b.md", "b_1.md", "c.pdf", "d.pdf"}, w.uploaded("t1"))

	for _, gone := range []step.Conversion{
		{User: "default", Thread: "t1", Name: "none.pdf"}, {User: "default", Thread: "t9", Name: "a.pdf"}, {User: "default", Thread: "t1", Name: "a.pdf", Size: 99},
	} {
		out, err = w.convert(gone)
		require.NoError(t, err)
		require.Equal(t, "the file is gone", out.Reason)
	}
	in = w.document("t1", "e.pdf", "Two")
	c.meet = func() {
		require.NoError(t, os.Remove(filepath.Join(w.dir, "default/threads/t1/user-data/uploads/e.pdf")))
	}
	out, err = w.convert(in)
	require.NoError(t, err)
	require.Equal(t, "the file is gone", out.Reason, "it was deleted meanwhile")
	require.NotContains(t, w.uploaded("t1"), "e.md")

	w.cfg.Uploads.AutoConvertDocuments = false
	out, err = w.convert(w.document("t1", "f.pdf", "Three"))
	require.NoError(t, err)
	require.Equal(t, "documents are not converted here", out.Reason)
}

// bring starts a run whose message names files, and gives the block about them.
func (w *world) bring(run, threadID string, names ...string) string {
	w.t.Helper()
	m := thread.Human("m-"+run, "read")
	var files []any
	for _, name := range names {
		files = append(files, map[string]any{"filename": name})
	}
	m.SetKwarg(thread.KeyFiles, files)
	w.brings(step.StartRunInput{Ref: ref(threadID, run, 0)}, m)
	return w.context(threadID, "m-"+run)[thread.ContextUploads]
}

// The start of a run makes the texts that are missing, as when Temporal was away
// at the upload.
func TestTheStartOfARunMakesMissingTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &converter{}
	w.acts.o.Documents = c
	w.document("t2", "a.pdf", "Missing")
	w.document("t2", "locked.docx", "locked")
	w.document("t2", "away.docx", "away")
	w.document("t2", "plain.txt", "x")
	block := w.bring("r2", "t2", "a.pdf", "locked.docx", "away.docx", "plain.txt")
	require.Contains(t, block, "  Text: /mnt/user-data/uploads/a.md\n  L3: Missing\n")
	require.Contains(t, block, "/locked.docx\n  Text: none (it is protected by a password)\n")
	require.Contains(t, block, "/away.docx\n  Text: none (it could not be made)\n")
	require.EqualValues(t, 3, c.calls.Load())

	w.cfg.Uploads.AutoConvertDocuments = false
	w.document("t3", "a.pdf", "Off")
	require.NotContains(t, w.bring("r3", "t3", "a.pdf"), "Text:")
}

// A conversion under way is waited for, not made twice, and not for ever.
func TestTheStartOfARunWaitsForAConversion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &converter{release: make(chan struct{})}
	w.acts.o.Documents = c
	w.acts.conversionWait = 20 * time.Millisecond
	in := w.document("t2", "a.pdf", "Slow")
	require.Contains(t, w.bring("r2", "t2", "a.pdf"), "Text: none (it is still being made: look for a.md later)")
	done := make(chan step.Converted, 1)
	go func() {
		out, _ := w.acts.converted(context.Background(), in)
		done <- out
	}()
	close(c.release)
	require.Equal(t, "a.md", (<-done).Text)
	require.EqualValues(t, 1, c.calls.Load())
	require.Equal(t, []string{"a.md", "a.pdf"}, w.uploaded("t2"))
	d, err := w.acts.uploadsOf("", "t2")
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	text, err := d.TextOf("a.pdf")
	require.NoError(t, err)
	require.Equal(t, "a.md", text)
	require.Equal(t, "a.md", uploads.TextName("a.pdf"))
}
