package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrowserlessFetch(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "browserless", tool: "web_fetch", timeout: "timeout_s",
		values: map[string]any{
			"wait_for_event": "ready", "wait_for_timeout_ms": 250, "wait_for_selector": "#main",
			"reject_resource_types": []any{"image", "font"}, "reject_request_pattern": `/.*\.css/`,
		},
		ok: tidesPage, okType: "text/html", want: tides(),
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /content", r.Method+" "+r.URL.Path)
			require.Equal(t, "timeout=5000&token="+secretKey, r.URL.RawQuery)
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			require.JSONEq(t, `{"url": "https://public.example/page", "waitForEvent": {"event": "ready", "timeout": 5000}, "waitForTimeout": 250,
				"waitForSelector": {"selector": "#main", "timeout": 5000},
				"rejectResourceTypes": ["image", "font"], "rejectRequestPattern": ["/.*\\.css/"]}`, body)
		},
		empty: " \n", wantEmpty: "No content found",
		malformed: []string{},
	})
}

// Row 10.16-11: the status of the page is not that of the server.
func TestBrowserless10_16_11(t *testing.T) {
	t.Parallel()
	for code, warning := range map[string]string{
		"403": "target page responded 403 Forbidden", "503": "target page responded 503 Service Unavailable", "304": "", "200": "", "": "", "odd": "",
	} {
		got, _, err := wire{provider: "browserless", tool: "web_fetch"}.call(t, answering(said{
			status: 200, body: tidesPage, header: map[string]string{"X-Response-Code": code, "X-Response-URL": "https://public.example/landed"},
		}))
		require.NoError(t, err)
		page := got.(Page)
		require.Equal(t, warning, page.Warning)
		require.Equal(t, tidesText, page.Text)
		require.Equal(t, "https://public.example/landed", page.FinalURL)
	}
}

// The token goes to the server and nowhere else.
func TestBrowserlessToken(t *testing.T) {
	t.Parallel()
	w := wire{provider: "browserless", tool: "web_fetch", keyless: true, values: map[string]any{"token": "a b&c"}}
	_, seen, err := w.call(t, answering(said{status: 400, body: `{"error": "bad request /content?token=a+b%26c"}`}))
	require.ErrorContains(t, err, "[redacted]")
	require.Equal(t, "a b&c", seen.all[0].request.URL.Query().Get("token"))
	require.NotContains(t, seen.all[0].body, "a b&c")

	o, _ := w.options(t, answering(said{status: 200, body: tidesPage}))
	o.Values["base_url"] = "http://127.0.0.1:1"
	_, err = newBrowserlessFetch(o).Fetch(t.Context(), "https://public.example/page")
	require.ErrorContains(t, err, "connection")
	require.NotContains(t, err.Error(), "token")

	w.values = nil
	_, seen, err = w.call(t, answering(said{status: 200, body: tidesPage}))
	require.NoError(t, err)
	require.False(t, seen.all[0].request.URL.Query().Has("token"))
}
