package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBraveImages(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "brave", tool: "image_search",
		values: map[string]any{"country": "DE", "search_lang": "de", "safesearch": "moderate", "spellcheck": "off", "max_results": "500"},
		ok: `{"type": "images", "results": [{"title": "Ebb", "url": "https://a.example/ebb", "source": "a.example",
			"thumbnail": {"src": "https://t.example/small.png", "width": 500, "height": 300},
			"properties": {"url": "https://a.example/full.png", "width": 1600, "height": 900}}, 3]}`,
		want: []Image{{
			Title: "Ebb", ImageURL: "https://a.example/full.png", ThumbnailURL: "https://t.example/small.png",
			SourceURL: "https://a.example/ebb", Source: "a.example", Width: 1600, Height: 900,
		}},
		empty: `{"results": []}`,
		check: func(t *testing.T, r *http.Request, _ string) {
			t.Helper()
			require.Equal(t, "GET /res/v1/images/search", r.Method+" "+r.URL.Path)
			require.Equal(t, secretKey, r.Header.Get("X-Subscription-Token"))
			require.Equal(t, "application/json", r.Header.Get("Accept"))
			require.Equal(t, "count=200&country=DE&q=tides+at+sea&safesearch=strict&search_lang=de&spellcheck=false", r.URL.RawQuery)
		},
	})
}

func TestBraveImagesQuery(t *testing.T) {
	t.Parallel()
	o, seen := wire{provider: "brave", tool: "image_search"}.options(t, answering(said{status: 200, body: `{}`}))
	_, err := newBraveImages(o).SearchImages(t.Context(), ImageQuery{Text: strings.Repeat("q", 500), Max: 7})
	require.NoError(t, err)
	query := seen.all[0].request.URL.Query()
	require.Len(t, query.Get("q"), 400)
	require.Equal(t, "7", query.Get("count"))
	require.False(t, query.Has("spellcheck"))

	delete(o.Values, "api_key")
	o.Getenv = func(name string) string { return map[string]string{"BRAVE_API_KEY": "old"}[name] }
	_, err = newBraveImages(o).SearchImages(t.Context(), ImageQuery{Text: "q"})
	require.EqualError(t, err, "BRAVE_SEARCH_API_KEY is not configured")
}
