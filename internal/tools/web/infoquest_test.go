package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Row 10.16-14: an address that is there twice is shown once, what has none is
// left out.
func TestInfoQuestSearch10_16_14(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "infoquest", tool: "web_search", values: map[string]any{"search_time_range": "7", "site": "a.example"},
		ok: `{"search_result": {"results": [
			{"content": {"results": {
				"organic": [{"title": "Tides", "desc": "high and low", "url": "https://a.example/"}, {"title": "No address"}],
				"top_stories": {"items": [
					{"title": "Twice", "url": "https://a.example/"},
					{"title": "Flood", "url": "https://n.example/", "time_frame": "2 hours ago", "source": "News"},
					{"url": "https://untitled.example/"}]}}}},
			{"content": {"results": {"organic": [{"title": "Again", "url": "https://n.example/"}, {"title": "Last", "url": "https://z.example/"}]}}},
			{"content": {"results": {"organic": null}}}, {}, 5]}}`,
		want: []Hit{
			{Kind: "page", Title: "Tides", URL: "https://a.example/", Snippet: "high and low"},
			{Kind: "news", Title: "Flood", URL: "https://n.example/", Published: "2 hours ago", Engine: "News"},
			{Kind: "page", Title: "Last", URL: "https://z.example/"},
		},
		empty: `{"search_result": {"results": []}}`,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.JSONEq(t, `{"format": "JSON", "query": "tides at sea", "time_range": 7, "site": "a.example"}`, body)
		},
		malformed: []string{"", `{"content": "odd"}`, `{}`, `null`, `[1]`, `<html>`, `{"search_result": {"results": {}}}`},
	})
}

func TestInfoQuestImages(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "infoquest", tool: "image_search", values: map[string]any{"image_search_time_range": 30, "image_size": "L"},
		ok: `{"search_result": {"results": [{"content": {"results": {"images_results": [
			{"original": "https://a.example/1.png", "title": "Ebb"}, {"original": "https://a.example/1.png"},
			{"original": "http://192.168.1.1/2.png"}, {"title": "none"}]}}}]}}`,
		want:  []Image{{Title: "Ebb", ImageURL: "https://a.example/1.png", ThumbnailURL: "https://a.example/1.png"}},
		empty: `{"search_result": {}}`,
		check: func(t *testing.T, _ *http.Request, body string) {
			t.Helper()
			require.JSONEq(t, `{"format": "JSON", "query": "tides at sea", "search_type": "Images", "image_size": "l", "time_range": 30}`, body)
		},
	})
}

func TestInfoQuestTimes(t *testing.T) {
	t.Parallel()
	const nothing = `{"search_result": {}}`
	for value, want := range map[any]string{0: "", -1: "", 366: "", "x": "", false: "", 365: `, "time_range": 365`} {
		w := wire{provider: "infoquest", tool: "image_search", values: map[string]any{"image_search_time_range": value, "image_size": "huge"}}
		_, seen, err := w.call(t, answering(said{status: 200, body: nothing}))
		require.NoError(t, err)
		require.JSONEq(t, `{"format": "JSON", "query": "tides at sea", "search_type": "Images", "image_size": "i"`+want+`}`, seen.all[0].body)
	}
	w := wire{provider: "infoquest", tool: "web_search", values: map[string]any{"search_time_range": 400}}
	_, seen, err := w.call(t, answering(said{status: 200, body: nothing}))
	require.NoError(t, err)
	require.JSONEq(t, `{"format": "JSON", "query": "tides at sea", "time_range": 400}`, seen.all[0].body)
}

func TestInfoQuestFetch(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "infoquest", tool: "web_fetch", values: map[string]any{"fetch_time": 3, "navigation_timeout": false},
		ok: tidesPage, okType: "text/html", want: tides(),
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /", r.Method+" "+r.URL.String())
			require.JSONEq(t, `{"url": "https://public.example/page", "format": "HTML", "fetch_time": 3, "timeout": 5}`, body)
		},
		empty: `{"reader_result": ""}`, wantEmpty: "No content found",
		malformed: []string{},
	}
	conform(t, w)
	for _, field := range []string{"reader_result", "content"} {
		got, _, err := w.call(t, answering(said{status: 200, body: `{"` + field + `": ` + quoted(t, tidesPage) + `}`}))
		require.NoError(t, err)
		require.Equal(t, tides(), got)
	}
	_, _, err := w.call(t, answering(said{status: 200, body: ""}))
	require.EqualError(t, err, "No content found")
}
