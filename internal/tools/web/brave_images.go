package web

import (
	"context"
	"net/url"
	"strconv"

	"deerflow/internal/thread"
)

// braveImagesMost is how many images a search can give.
const braveImagesMost = 200

// braveImages asks Brave for images. Options: api_key, base_url, timeout (30),
// max_results (5), country, search_lang, safesearch (off or strict), spellcheck.
type braveImages struct{ Options }

func newBraveImages(o Options) ImageSearcher { return braveImages{o} }

// SearchImages asks /images/search.
func (b braveImages) SearchImages(ctx context.Context, q ImageQuery) ([]Image, error) {
	key, err := b.NeedKey("BRAVE_SEARCH_API_KEY")
	if err != nil {
		return nil, err
	}
	count := b.Count(Query{Max: q.Max}, 5, braveImagesMost)
	query := url.Values{"q": {thread.FirstRunes(q.Text, 400)}, "count": {strconv.Itoa(count)}}
	for _, name := range []string{"country", "search_lang", "safesearch"} {
		if value := b.Text(name); value != "" {
			query.Set(name, value)
		}
	}
	if _, there := b.Values["spellcheck"]; there {
		query.Set("spellcheck", strconv.FormatBool(b.Bool("spellcheck")))
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
	err = b.Client.Decode(ctx, Request{
		Service: "Brave Search API", URL: b.BaseURL("https://api.search.brave.com/res/v1") + "/images/search", Query: query,
		Header: map[string]string{"X-Subscription-Token": key}, Secrets: []string{key},
		Timeout: b.Seconds("timeout", DefaultTimeout),
	}, &answer)
	if err != nil {
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
