package web

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// ddgImagePages answers the page with the token, and the images with a body.
func ddgImagePages(page, images string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/i.js" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
			return
		}
		w.Header().Set("Content-Type", "application/javascript")
		_, _ = io.WriteString(w, images)
	}
}

const ddgPage = `<html><script>DDG.deep.initialize('/d.js?q=x&vqd=4-123456789&p=1');</script></html>`

// A page without a token and an answer without end are those of the first request.
func TestDDGImages(t *testing.T) {
	t.Parallel()
	w := wire{provider: "ddg", tool: "image_search", keyless: true}
	t.Run("refused", w.refused)
	t.Run("malformed", w.isMalformed)
	t.Run("broken", w.broken)
}

// Row 10.16-6: the image in full size, not the thumbnail.
func TestDDGImages10_16_6(t *testing.T) {
	t.Parallel()
	o, seen := wire{provider: "ddg", tool: "image_search"}.options(t, ddgImagePages(ddgPage, `{"results": [
		{"title": "Private", "image": "http://10.0.0.1/full.png", "thumbnail": "http://10.0.0.1/small.png"},
		{"title": "Ebb", "image": "https://a.example/full.png", "thumbnail": "https://t.example/small.png",
			"url": "https://a.example/ebb", "width": 1600, "height": 900, "source": "Bing"}], "next": "i.js?s=100"}`))
	images, err := newDDGImages(o).SearchImages(t.Context(), ImageQuery{Text: "tides at sea", Size: "Large", Type: "photo", Layout: "wide"})
	require.NoError(t, err)
	require.Equal(t, []Image{{
		Title: "Ebb", ImageURL: "https://a.example/full.png", ThumbnailURL: "https://t.example/small.png",
		SourceURL: "https://a.example/ebb", Source: "Bing", Width: 1600, Height: 900,
	}}, images)
	require.Len(t, seen.all, 2)
	first, second := seen.all[0].request, seen.all[1].request
	require.Equal(t, "tides at sea", first.URL.Query().Get("q"))
	require.Equal(t, "GET /i.js", second.Method+" "+second.URL.Path)
	query := second.URL.Query()
	for name, want := range map[string]string{
		"o": "json", "q": "tides at sea", "l": "wt-wt", "vqd": "4-123456789", "p": "1", "ct": "AT", "f": ",size:Large,,type:photo,layout:Wide,",
	} {
		require.Equal(t, want, query.Get(name), name)
	}
	require.NotEmpty(t, second.Header.Get("Referer"))
}

func TestDDGImagesOptions(t *testing.T) {
	t.Parallel()
	for _, page := range []string{`vqd='4-1'`, `vqd="4-1"`, `&vqd=4-1&`} {
		w := wire{provider: "ddg", tool: "image_search", values: map[string]any{
			"region": "DE-de", "safesearch": false, "size": "small", "layout": "round", "max_results": 1,
		}}
		got, seen, err := w.call(t, ddgImagePages(page, `{"results": [{"image": "https://a.example/1.png"}, {"image": "https://a.example/2.png"}]}`))
		require.NoError(t, err)
		require.Equal(t, []Image{{ImageURL: "https://a.example/1.png", ThumbnailURL: "https://a.example/1.png"}}, got)
		query := seen.all[1].request.URL.Query()
		require.Equal(t, "4-1", query.Get("vqd"))
		require.Equal(t, "de-de", query.Get("l"))
		require.Equal(t, "-1", query.Get("p"))
		require.Equal(t, ",size:Small,,,,", query.Get("f"))
	}
	for _, body := range []string{``, `<html>`, `[]`, `{"results": 1}`} {
		_, _, err := wire{provider: "ddg", tool: "image_search"}.call(t, ddgImagePages(ddgPage, body))
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, KindFormat, e.Kind, body)
	}
}
