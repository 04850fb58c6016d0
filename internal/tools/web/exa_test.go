package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Highlights that are null are an empty snippet (row 10.16-15).
func TestExaSearch10_16_15(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "exa", tool: "web_search",
		values: map[string]any{"contents_max_characters": "300", "max_results": 3},
		ok: `{"requestId": "r", "results": [
			{"title": "Tides", "url": "https://a.example/", "publishedDate": "2026-01-02", "highlights": ["high", " low "], "score": 0.1},
			{"title": null, "url": "https://b.example/", "highlights": null}]}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/", Snippet: "high\nlow", Published: "2026-01-02"},
			{URL: "https://b.example/"},
		},
		empty: `{"results": []}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /search", r.Method+" "+r.URL.String())
			require.Equal(t, secretKey, r.Header.Get("X-Api-Key"))
			require.JSONEq(t, `{"query": "tides at sea", "type": "auto", "numResults": 3, "contents": {"highlights": {"maxCharacters": 300}}}`, body)
		},
	})
}

func TestExaFetch(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "exa", tool: "web_fetch",
		ok:   `{"results": [{"title": "", "url": "https://public.example/final", "text": "All about tides"}], "statuses": [{"status": "success"}]}`,
		want: Page{URL: "https://public.example/page", FinalURL: "https://public.example/final", Title: "Untitled", Text: "All about tides"},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /contents", r.Method+" "+r.URL.String())
			require.Equal(t, secretKey, r.Header.Get("X-Api-Key"))
			require.JSONEq(t, `{"urls": ["https://public.example/page"], "text": {"maxCharacters": 100000}}`, body)
		},
		empty: `{"results": []}`, wantEmpty: "No results found",
	}
	conform(t, w)
	for body, want := range map[string]string{
		`{"results": [], "statuses": [{"status": "error", "error": {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}}]}`: "the page answered HTTP 404 (not found): CRAWL_NOT_FOUND",
		`{"results": [], "statuses": [{"status": "error", "error": {"tag": "CRAWL_TIMEOUT"}}]}`:                          "No content found",
	} {
		_, _, err := w.call(t, answering(said{status: 200, body: body}))
		require.ErrorContains(t, err, want)
	}
}

func TestExaNeedsAKey(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"web_search", "web_fetch"} {
		_, seen, err := wire{provider: "exa", tool: tool, keyless: true}.call(t, answering(said{status: 200, body: `{}`}))
		require.EqualError(t, err, "EXA_API_KEY is not configured")
		require.Empty(t, seen.all)
	}
}
