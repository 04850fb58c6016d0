package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSerperSearch(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "serper", tool: "web_search",
		ok: `{"searchParameters": {"q": "tides at sea"}, "organic": [
			{"title": "Tides", "link": "https://a.example/tides", "snippet": "high and low", "date": "Jan 2, 2026", "position": 1},
			{"title": "More", "link": "http://127.0.0.1/", "snippet": null}
		]}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/tides", Snippet: "high and low", Published: "Jan 2, 2026"},
			{Title: "More", URL: "http://127.0.0.1/"},
		},
		empty: `{"organic": null}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /search", r.Method+" "+r.URL.String())
			require.Equal(t, secretKey, r.Header.Get("X-Api-Key"))
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			require.JSONEq(t, `{"q": "tides at sea", "num": 5}`, body)
		},
	})
}

func TestSerperImages(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "serper", tool: "image_search",
		ok: `{"images": [{"title": "Ebb", "imageUrl": "https://a.example/full.png", "imageWidth": 1600, "imageHeight": "900",
			"thumbnailUrl": "https://t.example/small.png", "thumbnailWidth": 160, "thumbnailHeight": 90,
			"source": "A", "link": "https://a.example/ebb"}]}`,
		want: []Image{{
			Title: "Ebb", ImageURL: "https://a.example/full.png", ThumbnailURL: "https://t.example/small.png",
			SourceURL: "https://a.example/ebb", Source: "A", Width: 1600, Height: 900,
		}},
		empty: `{"images": []}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /images", r.Method+" "+r.URL.String())
			require.Equal(t, secretKey, r.Header.Get("X-Api-Key"))
			require.JSONEq(t, `{"q": "tides at sea", "num": 5}`, body)
		},
	})
}

// Row 10.16-2: what an entry may say, and what Serper may answer.
func TestSerper10_16_2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		num   float64
	}{{0, 5}, {-1, 5}, {"x", 5}, {nil, 5}, {false, 5}, {50, 10}, {"7", 7}, {7.0, 7}} {
		w := wire{provider: "serper", tool: "web_search", values: map[string]any{"max_results": c.value, "gl": "de"}}
		_, seen, err := w.call(t, answering(said{status: 200, body: `{}`}))
		require.NoError(t, err)
		var sent map[string]any
		require.NoError(t, json.Unmarshal([]byte(seen.all[0].body), &sent))
		require.InDelta(t, c.num, sent["num"], 0, "%v", c.value)
		require.Equal(t, "de", sent["gl"])
	}

	o, seen := wire{provider: "serper", tool: "web_search"}.options(t, answering(said{status: 200, body: `{}`}))
	o.Values["api_key"] = "  "
	o.Getenv = func(name string) string { return map[string]string{"SERPER_API_KEY": " from-env\n"}[name] }
	_, err := newSerperSearch(o).Search(t.Context(), Query{Text: strings.Repeat("ü", 600)})
	require.NoError(t, err)
	require.Equal(t, "from-env", seen.all[0].request.Header.Get("X-Api-Key"))
	require.Contains(t, seen.all[0].body, `"`+strings.Repeat("ü", 500)+`"`)
	o.Getenv = nil
	_, err = newSerperSearch(o).Search(t.Context(), Query{Text: "q"})
	require.EqualError(t, err, "SERPER_API_KEY is not configured")
	_, err = newSerperImages(o).SearchImages(t.Context(), ImageQuery{Text: "q"})
	require.EqualError(t, err, "SERPER_API_KEY is not configured")
	require.Len(t, seen.all, 1, "nothing is sent without a key")

	ask := func(body string) ([]Hit, error) {
		got, _, err := wire{provider: "serper", tool: "web_search"}.call(t, answering(said{status: 200, body: body}))
		hits, _ := got.([]Hit)
		return hits, err
	}
	hits, err := ask(`{"organic": null}`)
	require.NoError(t, err)
	require.Empty(t, hits)
	_, err = ask(`{"organic": {}}`)
	require.ErrorContains(t, err, "unexpected format")
	hits, err = ask(`{"organic": [1, "a", {"title": "T", "link": "https://a.example"}]}`)
	require.NoError(t, err)
	require.Equal(t, []Hit{{Title: "T", URL: "https://a.example"}}, hits)
	hits, err = ask(`{"organic": [` + strings.Repeat(`{"link": "https://a.example"},`, 9) + `{}]}`)
	require.NoError(t, err)
	require.Len(t, hits, 5, "more than was asked for")
}
