package web

import (
	"context"
	"net/url"
	"time"
)

const (
	tavilyEnv     = "TAVILY_API_KEY"
	tavilyAddress = "https://api.tavily.com"
	tavilyService = "Tavily API"
)

// tavily speaks to Tavily. Without a key it asks in the mode that needs none, which
// is limited. Options: api_key, base_url, timeout (60), max_results (5), and the
// fields of a search in tavilyFields.
type tavily struct{ Options }

func newTavilySearch(o Options) Searcher { return tavily{o} }
func newTavilyFetch(o Options) Fetcher   { return tavily{o} }

// tavilyFields are the further fields of a search that an entry may set.
var tavilyFields = []string{"search_depth", "topic", "time_range", "country"}

func (t tavily) request(path string, body map[string]any) Request {
	r := Request{
		Service: tavilyService, URL: t.BaseURL(tavilyAddress) + path, JSON: body,
		Header: map[string]string{}, Timeout: t.Seconds("timeout", time.Minute),
	}
	if key := t.Key(tavilyEnv); key != "" {
		r.Header["Authorization"] = "Bearer " + key
		r.Secrets = []string{key}
	} else {
		r.Header["X-Tavily-Access-Mode"] = "keyless"
	}
	return r
}

// Search asks /search.
func (t tavily) Search(ctx context.Context, q Query) ([]Hit, error) {
	count := t.Count(q, 5, 20)
	body := map[string]any{"query": q.Text, "max_results": count}
	for _, name := range tavilyFields {
		if value := t.Text(name); value != "" {
			body[name] = value
		}
	}
	for _, name := range []string{"include_domains", "exclude_domains"} {
		if list := t.List(name); len(list) > 0 {
			body[name] = list
		}
	}
	var answer struct {
		Results List[struct {
			Title     Text `json:"title"`
			URL       Text `json:"url"`
			Content   Text `json:"content"`
			Published Text `json:"published_date"`
		}] `json:"results"`
	}
	if err := t.Client.Decode(ctx, t.request("/search", body), &answer); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range answer.Results {
		hits = append(hits, Hit{Title: r.Title.String(), URL: r.URL.String(), Snippet: r.Content.String(), Published: r.Published.String()})
	}
	return hits, nil
}

// Fetch asks /extract.
func (t tavily) Fetch(ctx context.Context, address string) (Page, error) {
	var answer struct {
		Results List[struct {
			Title   Text `json:"title"`
			Content Text `json:"raw_content"`
		}] `json:"results"`
		Failed List[struct {
			Error Text `json:"error"`
		}] `json:"failed_results"`
	}
	if err := t.Client.Decode(ctx, t.request("/extract", map[string]any{"urls": []string{address}, "format": "markdown"}), &answer); err != nil {
		return Page{}, err
	}
	switch {
	case len(answer.Failed) > 0:
		return Page{}, failed(KindNoContent, "%s could not read the page: %.200s", tavilyService, answer.Failed[0].Error)
	case len(answer.Results) == 0:
		return Page{}, failed(KindNoContent, "No results found")
	}
	page := Page{URL: address, Title: answer.Results[0].Title.String(), Text: answer.Results[0].Content.String()}
	if page.Title == "" {
		if u, err := url.Parse(address); err == nil {
			page.Title = u.Hostname()
		}
	}
	return page, nil
}
