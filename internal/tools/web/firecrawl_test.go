package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// crawlSearch and crawlFetch are the language of Firecrawl, which fastCRW speaks
// too.
func crawlSearch(provider string) wire {
	return wire{
		provider: provider, tool: "web_search", values: map[string]any{"max_results": 200},
		ok: `{"success": true, "data": {"web": [
			{"title": "Tides", "url": "https://a.example/", "description": "high and low", "position": 1},
			{"markdown": "# Long", "metadata": {"title": "Long", "sourceURL": "https://b.example/", "description": "with its body"}},
			"odd"]}}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/", Snippet: "high and low"},
			{Title: "Long", URL: "https://b.example/", Snippet: "with its body"},
		},
		empty: `{"success": true, "data": {"web": []}}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /v2/search", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.JSONEq(t, `{"query": "tides at sea", "limit": 100, "timeout": 5000, "origin": "deerflow"}`, body)
		},
	}
}

func crawlFetch(provider string) wire {
	return wire{
		provider: provider, tool: "web_fetch",
		ok: `{"success": true, "data": {"markdown": "All about tides", "metadata": {
			"title": "Tides", "url": "https://public.example/final", "sourceURL": "https://public.example/page", "statusCode": 200, "contentType": "text/html"}}}`,
		want: Page{
			URL: "https://public.example/page", FinalURL: "https://public.example/final", Title: "Tides", Text: "All about tides",
			Status: 200, ContentType: "text/html",
		},
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /v2/scrape", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.JSONEq(t, `{"url": "https://public.example/page", "formats": ["markdown"], "timeout": 5000, "origin": "deerflow"}`, body)
		},
		empty: `{"success": true, "data": {"markdown": " ", "metadata": {"statusCode": 200}}}`, wantEmpty: "No content found",
	}
}

func TestFirecrawlSearch(t *testing.T) {
	t.Parallel()
	conform(t, crawlSearch("firecrawl"))
}

func TestFirecrawlFetch(t *testing.T) {
	t.Parallel()
	conform(t, crawlFetch("firecrawl"))
}

// What does not say that it succeeded is an error, whatever it holds (row 10.16-15).
func TestFirecrawl10_16_15(t *testing.T) {
	t.Parallel()
	for _, w := range []wire{crawlSearch("firecrawl"), crawlFetch("firecrawl"), crawlSearch("fastcrw"), crawlFetch("fastcrw")} {
		for body, want := range map[string]string{
			`{"success": false, "error": "out of credits for ` + secretKey + `", "data": {"markdown": "x", "web": [{"url": "https://a.example"}]}}`: "did not succeed: out of credits for [redacted]",
			`{"data": {"markdown": "x", "web": [{"url": "https://a.example"}]}}`:                                                                    "did not succeed: it gives no reason",
		} {
			_, _, err := w.call(t, answering(said{status: 200, body: body}))
			require.ErrorContains(t, err, want, w.tool)
		}
		w.keyless = true
		_, seen, err := w.call(t, answering(said{status: 200, body: `{"success": true, "data": {"markdown": "x"}}`}))
		if w.provider == "firecrawl" {
			require.EqualError(t, err, "FIRECRAWL_API_KEY is not configured")
			require.Empty(t, seen.all)
			continue
		}
		require.NoError(t, err)
		require.Empty(t, seen.all[0].request.Header.Get("Authorization"))
	}
}

func TestFirecrawlOlderHits(t *testing.T) {
	t.Parallel()
	got, _, err := crawlSearch("firecrawl").call(t, answering(said{status: 200, body: `{"success": true, "data": [{"url": "https://a.example/", "title": ["odd"]}]}`}))
	require.NoError(t, err)
	require.Equal(t, []Hit{{URL: "https://a.example/"}}, got)
}

// A page that answered the service with an error says so.
func TestFirecrawlTargetStatus(t *testing.T) {
	t.Parallel()
	got, _, err := crawlFetch("firecrawl").call(t, answering(said{
		status: 200,
		body:   `{"success": true, "data": {"markdown": "Nothing here", "metadata": {"title": ["a", "b"], "statusCode": 404}}}`,
	}))
	require.NoError(t, err)
	require.Equal(t, Page{
		URL: "https://public.example/page", Title: "Untitled", Text: "Nothing here", Status: 404, Warning: "target page responded 404 Not Found",
	}, got)
}
