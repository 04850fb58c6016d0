package cases

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A photo is in the one request that needs it, and nowhere else.
func TestD13ViewImage(t *testing.T) {
	photo := "\x89PNG\r\n\x1a\n" + strings.Repeat("pixel of the photo ", 60_000)
	inside := base64.StdEncoding.EncodeToString([]byte(photo))[2000:2400]
	m := NewModel(t)
	m.On(AnyMessage("what is on it")).Enqueue(
		ToolCalls(call("v1", "view_image", map[string]any{"image_path": "/mnt/user-data/uploads/photo.png"}), ls("v2", "/mnt/user-data/uploads")),
		ToolCalls(ls("v3", "/mnt/user-data/uploads")),
		Text("a cat"))
	m.Respond(func(*Request) Reply { return Text("fine") })
	config := strings.Replace(ConfigFor(m), "    api_key:", "    supports_vision: true\n    api_key:", 1)
	p := StartDev(t, DevOptions{Config: config})
	api := p.API()
	id := newThread(t, api)
	write(t, filepath.Join(userDir(p, id), "uploads", "photo.png"), photo)
	stream, err := api.StreamRun(patient(t), id, SayWatched("what is on it"))
	require.NoError(t, err)
	frames, err := stream.All(patient(t))
	require.NoError(t, err)
	require.Equal(t, "success", run(t, api, id, "and on").Status)

	reqs := m.Requests()
	require.Len(t, reqs, 4)
	for i, r := range reqs {
		require.Equal(t, i == 1, bytes.Contains(r.Body, []byte(inside)), "request %d", i+1)
		require.Empty(t, r.Violations)
	}
	for _, f := range frames {
		require.NotContains(t, f.Data, inside)
	}
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	require.NotContains(t, mustJSON(state.Values), inside)
	require.NotContains(t, state.Values, "viewed_images", "what was seen is forgotten")
	require.Less(t, len(mustJSON(state.Values)), 20_000)
}
