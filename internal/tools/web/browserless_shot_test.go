package web

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const pngHeader = "\x89PNG\r\n\x1a\n and more"

func TestBrowserlessCapture(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "browserless", tool: "web_capture",
		values: map[string]any{"quality": 80, "best_attempt": "yes", "wait_for_selector": "main"},
		ok:     pngHeader, okType: "application/octet-stream",
		want: Shot{Data: []byte(pngHeader), ContentType: "image/png", FinalURL: "https://public.example/page"},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /screenshot", r.Method+" "+r.URL.Path)
			require.Equal(t, secretKey, r.URL.Query().Get("token"))
			require.JSONEq(t, `{"url": "https://public.example/page", "options": {"fullPage": false, "type": "png"},
				"viewport": {"width": 1280, "height": 720}, "waitForSelector": {"selector": "main", "timeout": 5000}, "bestAttempt": true}`, body)
		},
		malformed: []string{`{"results": []}`, "<html>no</html>", "\x00\x01\x02"},
	})
	_, _, err := wire{provider: "browserless", tool: "web_capture"}.call(t, answering(said{status: 200}))
	require.ErrorContains(t, err, "No content found")
}

func TestBrowserlessCaptureOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quality any
		format  string
		want    any
	}{{80, "jpeg", 80.0}, {"0", "webp", 0.0}, {101, "jpeg", nil}, {-1, "jpeg", nil}, {true, "jpeg", nil}, {80, "png", nil}} {
		o, seen := wire{provider: "browserless", tool: "web_capture"}.options(t, answering(said{
			status: 200, body: pngHeader, header: map[string]string{"X-Response-Code": "404"},
		}))
		o.Values["quality"], o.Values["viewport_height"] = c.quality, 900
		shot, err := newBrowserlessCapture(o).Capture(t.Context(), CaptureRequest{
			URL: "https://public.example/page", Format: c.format, FullPage: true, Width: 99_999,
		})
		require.NoError(t, err)
		require.Equal(t, "target page responded 404 Not Found", shot.Warning)
		var sent struct {
			Options  map[string]any `json:"options"`
			Viewport map[string]any `json:"viewport"`
		}
		require.NoError(t, json.Unmarshal([]byte(seen.all[0].body), &sent))
		require.Equal(t, c.format, sent.Options["type"])
		require.Equal(t, true, sent.Options["fullPage"])
		require.Equal(t, c.want, sent.Options["quality"], "%v", c)
		require.Equal(t, map[string]any{"width": 7680.0, "height": 900.0}, sent.Viewport)
	}
}
