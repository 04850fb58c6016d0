package web

import (
	"context"
	"strconv"
)

// braveImagesMost is how many images a search can give.
const braveImagesMost = 200

func newBraveImages(o Options) ImageSearcher { return brave{o} }

// SearchImages asks for images. Further option: spellcheck. Of safesearch, Brave
// knows only off and strict here.
func (b brave) SearchImages(ctx context.Context, q ImageQuery) ([]Image, error) {
	count := b.Count(Query{Max: q.Max}, 5, braveImagesMost)
	request, err := b.request("/res/v1/images/search", q.Text, count, "country", "search_lang", "safesearch")
	if err != nil {
		return nil, err
	}
	if safe := request.Query.Get("safesearch"); safe != "" && safe != "off" {
		request.Query.Set("safesearch", "strict")
	}
	if _, there := b.Values["spellcheck"]; there {
		request.Query.Set("spellcheck", strconv.FormatBool(b.Bool("spellcheck")))
	}
	var answer struct {
		Results List[struct {
			Title     Text `json:"title"`
			Page      Text `json:"url"`
			Source    Text `json:"source"`
			Thumbnail struct {
				Src    Text   `json:"src"`
				Width  Number `json:"width"`
				Height Number `json:"height"`
			} `json:"thumbnail"`
			Properties struct {
				URL    Text   `json:"url"`
				Width  Number `json:"width"`
				Height Number `json:"height"`
			} `json:"properties"`
		}] `json:"results"`
	}
	if err := b.Client.Decode(ctx, request, &answer); err != nil {
		return nil, err
	}
	var found foundImages
	for _, r := range answer.Results {
		found.add(Image{Title: r.Title.String(), SourceURL: r.Page.String(), Source: r.Source.String()},
			picture{r.Properties.URL, r.Properties.Width, r.Properties.Height},
			picture{r.Thumbnail.Src, r.Thumbnail.Width, r.Thumbnail.Height})
	}
	return found.first(count)
}
