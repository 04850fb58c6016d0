package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroundRouteSearch(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "groundroute", tool: "web_search",
		ok: `{"results": [
			{"title": "Tides", "url": "https://a.example/", "snippet": "high and low", "content": "long", "source_engine": "bing", "published_at": "2026-01-02"},
			{"title": "More", "url": "https://b.example/", "snippet": "", "content": "long"}]}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/", Snippet: "high and low", Engine: "bing", Published: "2026-01-02"},
			{Title: "More", URL: "https://b.example/", Snippet: "long"},
		},
		empty: `{"results": []}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /v1/search", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.JSONEq(t, `{"query": "tides at sea", "max_results": 5}`, body)
		},
	})
}

func TestGroundRouteFetch(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "groundroute", tool: "web_fetch",
		ok:   `{"results": [{"title": "Tides", "content": "All about tides", "snippet": "short"}]}`,
		want: Page{URL: "https://public.example/page", Title: "Tides", Text: "All about tides"},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /v1/search", r.Method+" "+r.URL.String())
			require.JSONEq(t, `{"query": "https://public.example/page", "mode": "page", "max_results": 1}`, body)
		},
		empty: `{"results": []}`, wantEmpty: "No results found",
	}
	conform(t, w)
	got, _, err := w.call(t, answering(said{status: 200, body: `{"results": [{"content": null, "snippet": "short"}]}`}))
	require.NoError(t, err)
	require.Equal(t, Page{URL: "https://public.example/page", Title: "Untitled", Text: "short"}, got)
	_, _, err = w.call(t, answering(said{status: 200, body: `{"results": [{"title": "Tides"}]}`}))
	require.EqualError(t, err, "No content found")
}

// Row 10.16-13: the model's number comes before the entry's.
func TestGroundRoute10_16_13(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked int
		entry any
		want  string
	}{{3, 10, "3"}, {0, 10, "10"}, {-1, 10, "10"}, {99, 10, "50"}, {0, 99, "50"}, {0, nil, "5"}} {
		o, seen := wire{provider: "groundroute", tool: "web_search"}.options(t, answering(said{status: 200, body: `{}`}))
		o.Values["max_results"] = c.entry
		_, err := newGroundRouteSearch(o).Search(t.Context(), Query{Text: "q", Max: c.asked})
		require.NoError(t, err)
		require.JSONEq(t, `{"query": "q", "max_results": `+c.want+`}`, seen.all[0].body)
	}
	_, seen, err := wire{provider: "groundroute", tool: "web_fetch", keyless: true}.call(t, answering(said{status: 200, body: `{}`}))
	require.EqualError(t, err, "GROUNDROUTE_API_KEY is not configured")
	require.Empty(t, seen.all)
}
