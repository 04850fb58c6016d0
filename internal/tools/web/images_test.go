package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Row 10.16-3: addresses of images that lead to this machine, a private network or
// nowhere are left out, however they are written.
func TestSafeImageURL10_16_3(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://localhost./", "http://LOCALHOST/",
		"http://a.localhost/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[::127.0.0.1]/",
		"http://[::1]/", "http://[fe80::1%25eth0]/", "http://10.0.0.1/", "http://100.64.0.1/", "http://169.254.169.254/latest",
		"http://metadata.google.internal/", "ftp://x", "http://[bad", "javascript:alert(1)", "data:image/png;base64,AA", "//a.example/x.png",
		"/x.png", "https://", "",
	} {
		require.Empty(t, SafeImageURL(address), address)
	}
	for _, address := range []string{
		"http://134744072/", "https://cafe.com", "http://256.1.1.1/", "http://1.2.3.4.5/", "https://a.example/a%20b.png?w=1&h=2#f",
		"http://[2606:4700::1111]/x.png",
	} {
		require.Equal(t, address, SafeImageURL(address), address)
	}
}

// Rows 10.16-4 and 10.16-5, for all providers that give two sizes of an image.
func TestImageSizes10_16_4(t *testing.T) {
	t.Parallel()
	type size struct {
		URL    any `json:"url"`
		Width  int `json:"width"`
		Height int `json:"height"`
	}
	answers := map[string]func(title string, full, small size) any{
		"serper": func(title string, full, small size) any {
			return map[string]any{
				"title": title, "imageUrl": full.URL, "imageWidth": full.Width, "imageHeight": full.Height,
				"thumbnailUrl": small.URL, "thumbnailWidth": small.Width, "thumbnailHeight": small.Height,
			}
		},
		"brave": func(title string, full, small size) any {
			return map[string]any{
				"title": title, "properties": full,
				"thumbnail": map[string]any{"src": small.URL, "width": small.Width, "height": small.Height},
			}
		},
	}
	const full, small, private = "https://a.example/full.png", "https://a.example/small.png", "http://127.0.0.1/x.png"
	for provider, item := range answers {
		ask := func(items ...any) ([]Image, error) {
			body, err := json.Marshal(map[string]any{map[string]string{"serper": "images", "brave": "results"}[provider]: items})
			require.NoError(t, err)
			got, _, err := wire{provider: provider, tool: "image_search"}.call(t, answering(said{status: 200, body: string(body)}))
			images, _ := got.([]Image)
			return images, err
		}
		for _, c := range []struct {
			name        string
			full, small any
			want        Image
		}{
			{"both", full, small, Image{ImageURL: full, ThumbnailURL: small, Width: 800, Height: 600}},
			{"full one filtered", private, small, Image{ThumbnailURL: small}},
			{"full one absent", nil, small, Image{ImageURL: small, ThumbnailURL: small, Width: 80, Height: 60}},
			{"full one blank", " ", small, Image{ImageURL: small, ThumbnailURL: small, Width: 80, Height: 60}},
			{"thumbnail filtered", full, private, Image{ImageURL: full, Width: 800, Height: 600}},
			{"thumbnail absent", full, nil, Image{ImageURL: full, ThumbnailURL: full, Width: 800, Height: 600}},
		} {
			images, err := ask(item(c.name, size{c.full, 800, 600}, size{c.small, 80, 60}))
			require.NoError(t, err, provider)
			c.want.Title = c.name
			require.Equal(t, []Image{c.want}, images, provider)
		}

		var mixed []any
		for range 5 {
			mixed = append(mixed, item("private", size{URL: private}, size{URL: private}))
		}
		_, err := ask(mixed...)
		require.EqualError(t, err, "No safe image URLs found", provider)
		for i := range 7 {
			mixed = append(mixed, item(fmt.Sprint(i), size{URL: full}, size{URL: small}))
		}
		images, err := ask(mixed...)
		require.NoError(t, err, provider)
		require.Len(t, images, 5, provider)
		for i, image := range images {
			require.Equal(t, fmt.Sprint(i), image.Title, provider)
		}
		_, err = ask(item("none", size{}, size{}))
		require.NoError(t, err, provider)
	}
	for provider, body := range map[string]string{"serper": `{"images": {}}`, "brave": `{"results": "many"}`, "infoquest": `{"search_result": []}`} {
		_, _, err := wire{provider: provider, tool: "image_search"}.call(t, answering(said{status: 200, body: body}))
		require.ErrorContains(t, err, "unexpected format", provider)
	}
}
