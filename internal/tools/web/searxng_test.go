package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearXNG(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "searxng", tool: "web_search", keyless: true,
		values: map[string]any{"max_results": "2", "categories": "general, science"},
		ok: `{"query": "q", "number_of_results": 0, "results": [
			{"title": "Tides", "url": "https://a.example/", "content": "high and low", "engine": "bing", "publishedDate": null},
			{"url": "https://b.example/"}, {"url": "https://c.example/"}
		], "answers": [], "unresponsive_engines": []}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/", Snippet: "high and low", Engine: "bing"},
			{URL: "https://b.example/"},
		},
		empty: `{"results": []}`,
		check: func(t *testing.T, r *http.Request, _ string) {
			t.Helper()
			require.Equal(t, "GET /search?categories=general%2Cscience&format=json&language=auto&limit=2&pageno=1&q=tides+at+sea", r.Method+" "+r.URL.String())
		},
	}
	conform(t, w)
	_, _, err := w.call(t, answering(said{status: 403, body: "<h1>Forbidden</h1>"}))
	require.ErrorContains(t, err, "json format")
}
