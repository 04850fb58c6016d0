package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"deerflow/internal/thread"
)

const (
	braveEnv     = "BRAVE_SEARCH_API_KEY"
	braveAddress = "https://api.search.brave.com"
	braveService = "Brave Search API"
)

// What Brave takes of a query.
const (
	braveQueryChars = 400
	braveQueryWords = 50
)

// brave speaks to Brave Search. Options: api_key, base_url, timeout (30),
// max_results (5), country, search_lang, safesearch.
type brave struct{ Options }

func newBraveSearch(o Options) Searcher { return brave{o} }

// request is one to a path of the API, with the query and the entry's passing
// options.
func (b brave) request(path, query string, count int, options ...string) (Request, error) {
	key, err := b.NeedKey(braveEnv)
	if err != nil {
		return Request{}, err
	}
	q := url.Values{"q": {braveQuery(query)}, "count": {strconv.Itoa(count)}}
	for _, name := range options {
		if value := b.Text(name); value != "" {
			q.Set(name, value)
		}
	}
	return Request{
		Service: braveService, URL: b.BaseURL(braveAddress) + path, Query: q,
		Header: map[string]string{"X-Subscription-Token": key}, Secrets: []string{key}, Timeout: b.Seconds("timeout", DefaultTimeout),
	}, nil
}

func braveQuery(text string) string {
	words := strings.Fields(text)
	text = strings.Join(words[:min(len(words), braveQueryWords)], " ")
	return strings.TrimSpace(thread.FirstRunes(text, braveQueryChars))
}

// Search asks for pages.
func (b brave) Search(ctx context.Context, q Query) ([]Hit, error) {
	r, err := b.request("/res/v1/web/search", q.Text, b.Count(q, 5, 20), "country", "search_lang", "safesearch")
	if err != nil {
		return nil, err
	}
	r.Query.Set("text_decorations", "false")
	var answer struct {
		Web *struct {
			Results List[struct {
				Title       Text `json:"title"`
				URL         Text `json:"url"`
				Description Text `json:"description"`
				Age         Text `json:"page_age"`
			}] `json:"results"`
		} `json:"web"`
	}
	if err := b.Client.Decode(ctx, r, &answer); err != nil || answer.Web == nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range answer.Web.Results {
		hits = append(hits, Hit{Title: r.Title.String(), URL: r.URL.String(), Snippet: r.Description.String(), Published: r.Age.String()})
	}
	return hits, nil
}
