package api

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/testkit"
	"deerflow/internal/threadclient"
	"deerflow/internal/uploads"
)

var _ Documents = (*threadclient.Client)(nil)

// writers makes texts, except of documents whose name says otherwise.
type writers struct {
	users string
	mu    sync.Mutex
	asked map[string]step.Conversion
}

func (w *writers) Convert(ctx context.Context, in step.Conversion) (step.Converted, error) {
	w.mu.Lock()
	w.asked[in.Name] = in
	w.mu.Unlock()
	switch in.Name {
	case "broken.pdf":
		return step.Converted{Reason: "the document is damaged"}, nil
	case "away.pdf":
		return step.Converted{}, threadclient.ErrUnavailable
	case "slow.pdf":
		<-ctx.Done()
		return step.Converted{}, ctx.Err()
	}
	d, err := uploads.Open(w.users, in.User, in.Thread, false)
	if err != nil {
		return step.Converted{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Stat(in.Name)
	if err != nil {
		return step.Converted{}, err
	}
	text, err := d.AddText(ctx, info, in.Want, "# Text\n")
	return step.Converted{Text: text, Pages: 1}, err
}

func newConverting(t *testing.T, on bool) (*env, *writers) {
	t.Helper()
	w := &writers{asked: map[string]step.Conversion{}}
	e := newEnv(t, func(o *Options) {
		o.Documents, o.ConversionWait = w, 5*time.Second
		o.Settings = func() Settings { return Settings{ConvertDocuments: on} }
	})
	w.users = filepath.Join(e.dataDir, "users")
	return e, w
}

func file(name string) testkit.UploadFile {
	return testkit.UploadFile{Name: name, Content: []byte(name)}
}

// I07, 10.17-7: texts overwrite nothing, and the answer has their real names.
func TestI07TextsOfDocuments(t *testing.T) {
	t.Parallel()
	e, _ := newConverting(t, true)
	up, err := e.root.Upload(e.ctx, "t", file("a.docx"), file("a.md"), file("a.pdf"), file("plain.txt"))
	require.NoError(t, err)
	require.Equal(t, []string{"a.docx", "a.md", "a.pdf", "plain.txt"}, names(up))
	for i, want := range []string{"a_1.md", "", "a_2.md", ""} {
		f := up.Files[i]
		require.Equal(t, want, f.MarkdownFile)
		require.Empty(t, f.ConversionError)
		if want == "" {
			continue
		}
		require.Equal(t, "/mnt/user-data/uploads/"+want, f.MarkdownVirtualPath)
		require.Equal(t, "/api/threads/t/artifacts/mnt/user-data/uploads/"+want, f.MarkdownArtifactURL)
		data, err := e.root.Artifact(e.ctx, "t", f.MarkdownVirtualPath)
		require.NoError(t, err)
		require.Contains(t, string(data), "<!-- text of \""+f.Filename+"\"")
	}
	data, err := e.root.Artifact(e.ctx, "t", "/mnt/user-data/uploads/a.md")
	require.NoError(t, err)
	require.Equal(t, "a.md", string(data), "the user's own")

	e.check(t, scenario{
		method: "GET", path: "/api/threads/t/uploads/list", status: 200,
		want: []string{`"count":4`, `"markdown_file":"a_1.md"`, `"markdown_file":"a_2.md"`, `"filename":"a.md"`}, wantNot: []string{`"filename":"a_1.md"`},
	})
	up, err = e.root.Upload(e.ctx, "u", file("a.pdf"), file("a.docx"))
	require.NoError(t, err)
	require.Equal(t, "a.md", up.Files[0].MarkdownFile)
	require.Equal(t, "a_1.md", up.Files[1].MarkdownFile)
}

// An upload succeeds whatever becomes of its texts.
func TestAnUploadSucceedsWithoutATextOfIt(t *testing.T) {
	t.Parallel()
	e, w := newConverting(t, true)
	e.server.o.ConversionWait = 50 * time.Millisecond
	up, err := e.root.Upload(e.ctx, "t", file("broken.pdf"), file("away.pdf"), file("slow.pdf"))
	require.NoError(t, err)
	require.Equal(t, "the document is damaged", up.Files[0].ConversionError)
	for _, f := range up.Files {
		require.Empty(t, f.MarkdownFile)
	}
	require.Equal(t, step.Conversion{User: "default", Thread: "t", Name: "slow.pdf", Size: 8, Want: "slow.md"}, w.asked["slow.pdf"])
	e, w = newConverting(t, false)
	up, err = e.root.Upload(e.ctx, "t", file("a.pdf"))
	require.NoError(t, err)
	require.Empty(t, up.Files[0].MarkdownFile)
	require.Empty(t, w.asked)
}

func TestDeleteUpload(t *testing.T) {
	t.Parallel()
	e, _ := newConverting(t, true)
	_, err := e.root.Upload(e.ctx, "t", file("a.pdf"), file("re\u0301 100%25.txt"), file("keep.md"))
	require.NoError(t, err)
	del := func(name string, status int) {
		t.Helper()
		e.check(t, scenario{method: "DELETE", path: "/api/threads/t/uploads/" + name, status: status})
	}
	e.check(t, scenario{method: "DELETE", path: "/api/threads/t/uploads/a.pdf", status: 200, want: []string{`"success":true`, `"message":"Deleted a.pdf"`}})
	del("a.pdf", 404)
	del(url.PathEscape("r\u00e9 100%25.txt"), 200)
	for _, name := range []string{"..%2fx", "%2e%2e", ".upload-1.part", "a%5cb"} {
		del(name, 400)
	}
	e.check(t, scenario{method: "DELETE", path: "/api/threads/none/uploads/a.pdf", status: 404})
	e.check(t, scenario{method: "GET", path: "/api/threads/t/uploads/list", status: 200, want: []string{`"count":1`, `"filename":"keep.md"`}})
}
