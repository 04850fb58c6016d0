package web

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"strings"
)

const (
	ddgImagesAddress = "https://duckduckgo.com"
	ddgImagesMost    = 100 // one page of results
)

// ddgImages asks the search for images of DuckDuckGo's own page, which needs no
// key. Options: base_url, timeout (30), max_results (5), region (wt-wt), safesearch
// (on, moderate, off), and size, type_image and layout for a model that does not
// name one.
type ddgImages struct{ Options }

func newDDGImages(o Options) ImageSearcher { return ddgImages{o} }

// SearchImages gets the token that the page gives out with each query, then the
// images.
func (d ddgImages) SearchImages(ctx context.Context, q ImageQuery) ([]Image, error) {
	count := d.Count(Query{Max: q.Max}, 5, ddgImagesMost)
	token, err := d.token(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	request := d.request("/i.js", url.Values{
		"o": {"json"}, "q": {q.Text}, "l": {ddgRegion(d.Text("region"), q.Text)},
		"vqd": {token}, "p": {d.safety()}, "ct": {"AT"}, "f": {d.filters(q)},
	})
	request.Header["Referer"] = d.BaseURL(ddgImagesAddress) + "/"
	var answer struct {
		Results List[struct {
			Title     Text   `json:"title"`
			Image     Text   `json:"image"`
			Thumbnail Text   `json:"thumbnail"`
			Page      Text   `json:"url"`
			Source    Text   `json:"source"`
			Width     Number `json:"width"`
			Height    Number `json:"height"`
		}] `json:"results"`
	}
	if err := d.Client.Decode(ctx, request, &answer); err != nil {
		return nil, err
	}
	var found foundImages
	for _, r := range answer.Results {
		found.add(Image{Title: r.Title.String(), SourceURL: r.Page.String(), Source: r.Source.String()},
			picture{r.Image, r.Width, r.Height}, picture{address: r.Thumbnail})
	}
	return found.first(count)
}

func (d ddgImages) request(path string, query url.Values) Request {
	return Request{
		Service: ddgService, URL: d.BaseURL(ddgImagesAddress) + path, Query: query,
		Header: map[string]string{}, Timeout: d.Seconds("timeout", DefaultTimeout),
	}
}

// ddgToken matches the token in the source of the page, in the ways in which it is
// written there.
var ddgToken = regexp.MustCompile(`\bvqd=["']?([0-9][0-9-]*)`)

func (d ddgImages) token(ctx context.Context, query string) (string, error) {
	request := d.request("/", url.Values{"q": {query}, "iax": {"images"}, "ia": {"images"}})
	request.Header["Accept"] = "text/html"
	response, err := d.Client.Do(ctx, request)
	if err != nil {
		return "", err
	}
	m := ddgToken.FindSubmatch(response.Body)
	if m == nil {
		return "", Malformed(ddgService)
	}
	return string(m[1]), nil
}

func (d ddgImages) safety() string {
	if strings.EqualFold(d.Text("safesearch"), "off") || d.Off("safesearch") {
		return "-1"
	}
	return "1"
}

// filters are what the images must be like, as the page writes it: six fields, of
// which those for time, colour and licence stay empty.
func (d ddgImages) filters(q ImageQuery) string {
	part := func(name, asked, option string, known ...string) string {
		value := cmp.Or(asked, d.Text(option))
		for _, k := range known {
			if strings.EqualFold(value, k) {
				return name + ":" + k
			}
		}
		return ""
	}
	return strings.Join([]string{
		"", part("size", q.Size, "size", "Small", "Medium", "Large", "Wallpaper"), "",
		part("type", q.Type, "type_image", "photo", "clipart", "gif", "transparent", "line"),
		part("layout", q.Layout, "layout", "Square", "Tall", "Wide"), "",
	}, ",")
}
