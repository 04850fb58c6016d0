package web

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func quoted(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data)
}

func TestCrawl4AI(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "crawl4ai", tool: "web_fetch",
		ok:   `{"url": "https://public.example/page", "filter": "fit", "markdown": "# Tides\n\nHigh and low", "success": true}`,
		want: Page{URL: "https://public.example/page", Text: "# Tides\n\nHigh and low"},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /md", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.JSONEq(t, `{"url": "https://public.example/page", "f": "fit"}`, body)
		},
		empty: `{"success": true, "markdown": " \n"}`, wantEmpty: "No content found",
	})
}

// Row 10.16-9: the filter, and an answer that is a page.
func TestCrawl4AI10_16_9(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]string{" FIT ": "fit", "fit_content": "fit", "Raw": "raw", "bm25": "bm25", "llm": "llm", false: "fit"} {
		o, seen := wire{provider: "crawl4ai", tool: "web_fetch"}.options(t, answering(said{status: 200, body: `{"success": true, "markdown": "x"}`}))
		o.Values["filter"] = value
		var warned []string
		o.Warn = func(text string) { warned = append(warned, text) }
		_, err := newCrawl4AI(o).Fetch(t.Context(), "https://public.example/page")
		require.NoError(t, err)
		require.JSONEq(t, `{"url": "https://public.example/page", "f": "`+want+`"}`, seen.all[0].body)
		if value == "fit_content" || value == false {
			require.Len(t, warned, 1, "%v", value)
		} else {
			require.Empty(t, warned, "%v", value)
		}
	}
	w := wire{provider: "crawl4ai", tool: "web_fetch"}
	_, _, err := w.call(t, answering(said{status: 200, header: map[string]string{"Content-Type": "text/html"}, body: "<html>a proxy</html>"}))
	require.EqualError(t, err, "the Crawl4AI server answered with text/html instead of JSON")
	_, _, err = w.call(t, answering(said{status: 200, body: `{"success": false, "markdown": "x"}`}))
	require.ErrorContains(t, err, "could not read the page")
	w = wire{provider: "crawl4ai", tool: "web_fetch", keyless: true, values: map[string]any{"token": "t0"}}
	_, seen, err := w.call(t, answering(said{status: 200, body: `{"success": true, "markdown": "x"}`}))
	require.NoError(t, err)
	require.Equal(t, "Bearer t0", seen.all[0].request.Header.Get("Authorization"))
}
