package activities

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

const png = "\x89PNG\r\n\x1a\nrest"

// part is a part of a message of a request.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// lastParts makes a model call with edits, and gives the parts of the last
// message that the model was sent.
func (w *world) lastParts(edits ...agent.Edit) []part {
	w.t.Helper()
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &body) // checked below
		says("I see")(rw, r)
	}
	in := w.modelInput()
	in.Edits = edits
	_, err := w.env.ExecuteActivity(step.CallModel, in)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, body.Messages)
	var parts []part
	require.NoError(w.t, json.Unmarshal(body.Messages[len(body.Messages)-1].Content, &parts))
	return parts
}

func (w *world) upload(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "default/threads/t1/user-data/uploads", name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestImagesAreReadWhenTheRequestIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := w.upload("large.png", png)
	require.NoError(t, os.Truncate(large, tools.MaxImageBytes+1))
	w.upload("a.png", png)
	w.upload("changed.png", png+"more")
	edit := agent.Edit{Op: agent.EditImages, Role: thread.RoleHuman}
	show := func(name string, size int64) {
		path := "/mnt/user-data/uploads/" + name
		edit.Images = append(edit.Images, agent.ShownImage{Path: path, Image: thread.ViewedImage{MimeType: "image/png", Size: size, Path: path}})
	}
	show("a.png", int64(len(png)))
	show("gone.png", 3)
	show("changed.png", int64(len(png)))
	show("large.png", tools.MaxImageBytes+1)
	parts := w.lastParts(edit)
	require.Len(t, parts, 9, "an intro, and two parts an image")
	require.Equal(t, "**/mnt/user-data/uploads/a.png** (image/png)", parts[1].Text)
	require.Equal(t, "data:image/png;base64,"+base64.StdEncoding.EncodeToString([]byte(png)), parts[2].Image.URL)
	for i, note := range map[int]string{4: "gone or cannot be read", 6: "has changed", 8: "too large"} {
		require.Equal(t, "text", parts[i].Type)
		require.Contains(t, parts[i].Text, note)
		require.NotContains(t, parts[i].Text, w.dir, "the path of the host")
	}
	row, err := w.store.GetMessage(t.Context(), "t1", "r1-1")
	require.NoError(t, err)
	require.NotContains(t, string(row.Digest), "base64", "the bytes are in the request alone (D13)")
}

func TestImagesHaveABoundTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	show := w.acts.imageOf(t.Context(), ref("t1", "r1", 1), int64(2*len(png)+1))
	for i := range 3 {
		name := fmt.Sprintf("%d.png", i)
		w.upload(name, png)
		path := "/mnt/user-data/uploads/" + name
		block := show(path, thread.ViewedImage{MimeType: "image/png", Size: int64(len(png)), Path: path})
		if i < 2 {
			require.Equal(t, "image_url", block.Type)
			continue
		}
		require.Equal(t, "text", block.Type)
		require.Contains(t, block.Text, "too large together")
	}
}
