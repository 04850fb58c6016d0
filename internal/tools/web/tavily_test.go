package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTavilySearch(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "tavily", tool: "web_search",
		ok: `{"query": "q", "results": [
			{"title": "Tides", "url": "https://a.example/tides", "content": " high and low ", "score": 0.9, "published_date": "2026-01-02"},
			{"url": "https://b.example/", "content": null}, 7, null, "text"
		], "response_time": "1.2"}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/tides", Snippet: "high and low", Published: "2026-01-02"},
			{URL: "https://b.example/"},
		},
		empty: `{"results": []}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /search", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			require.JSONEq(t, `{"query": "tides at sea", "max_results": 5}`, body)
		},
	})
}

func TestTavilyFetch(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "tavily", tool: "web_fetch",
		ok:   `{"results": [{"url": "https://public.example/page", "raw_content": "# All about tides"}], "failed_results": []}`,
		want: Page{URL: "https://public.example/page", Title: "public.example", Text: "# All about tides"},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /extract", r.Method+" "+r.URL.String())
			require.JSONEq(t, `{"urls": ["https://public.example/page"], "format": "markdown"}`, body)
		},
		empty: `{"results": [], "failed_results": []}`, wantEmpty: "No results found",
	}
	conform(t, w)
	_, _, err := w.call(t, answering(said{status: 200, body: `{"results": [], "failed_results": [{"url": "u", "error": "page is gone"}]}`}))
	require.ErrorContains(t, err, "page is gone")
}

func TestTavilyNeedsNoKey(t *testing.T) {
	t.Parallel()
	w := wire{provider: "tavily", tool: "web_search", values: map[string]any{"api_key": "  ", "max_results": "50", "topic": "news", "include_domains": []any{"a.example"}}}
	_, seen, err := w.call(t, answering(said{status: 200, body: `{"results": null}`}))
	require.NoError(t, err)
	require.Empty(t, seen.all[0].request.Header.Get("Authorization"))
	require.Equal(t, "keyless", seen.all[0].request.Header.Get("X-Tavily-Access-Mode"))
	require.JSONEq(t, `{"query": "tides at sea", "max_results": 20, "topic": "news", "include_domains": ["a.example"]}`, seen.all[0].body)
}
