package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/tools/web"
)

func TestWebCapture(t *testing.T) {
	t.Parallel()
	s := &scripted{shot: web.Shot{Data: []byte("\x89PNG"), ContentType: "image/png", Warning: "target page responded with 404"}}
	k, _ := webKit(t, s, nil)
	take := func(id string, args a) string {
		t.Helper()
		k.env.MessageID = id
		args["url"] = "https://a.example/some/page"
		r := k.call("web_capture", args)
		require.False(t, r.Error, r.Text)
		require.Len(t, r.State.Artifacts, 1)
		require.Contains(t, r.Text, r.State.Artifacts[0])
		require.Contains(t, r.Text, "(warning: target page responded with 404)")
		return strings.TrimPrefix(r.State.Artifacts[0], "/mnt/user-data/outputs/")
	}
	// 10.16-12
	require.Equal(t, "x_y.png", take("m1", a{"filename": "../../x y?.png", "full_page": true, "output_format": "jpg", "viewport_width": 99999, "viewport_height": -1}))
	require.Equal(t, web.CaptureRequest{URL: "https://a.example/some/page", FullPage: true, Format: "jpeg", Width: 10000}, s.capture)
	require.Equal(t, "x_y-1.png", take("m2", a{"filename": "x_y.png"}))
	require.Equal(t, "x_y-2.png", take("m3", a{"filename": "x_y"}))
	s.shot.Data = []byte("\x89PNG another")
	require.Equal(t, "x_y-3.png", take("m4", a{"filename": "x_y"}))
	require.Equal(t, "x_y-3.png", take("m4", a{"filename": "x_y"}), "a second attempt of the same call")
	require.Equal(t, "潮汐.png", take("m5", a{"filename": `C:\tmp\潮汐.JPG`}))

	own := take("m6", a{})
	require.Regexp(t, `^a\.example_some_page-[0-9a-f]{8}\.png$`, own)
	require.Equal(t, own, take("m6", a{}), "a second attempt of the same call")
	require.NotEqual(t, own, take("m7", a{}))

	s.shot.ContentType = "image/jpeg"
	require.Equal(t, strings.Repeat("n", 100)+".jpg", take("m8", a{"filename": strings.Repeat("n", 300)}))

	s.shot.ContentType = "text/html"
	k.fails("web_capture", a{"url": "https://a.example/"}, "no picture")
	k.fails("web_capture", a{"url": "file:///etc/passwd"}, "only URLs with http")
	tool, _ := k.set.Get("web_capture")
	require.Equal(t, agent.ClassWrite, tool.Spec().Class)
	for _, name := range []string{"web_search", "web_fetch", "image_search"} {
		tool, _ := k.set.Get(name)
		require.Equal(t, agent.ClassRead, tool.Spec().Class, name)
	}
}
