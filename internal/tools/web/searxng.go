package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	searxngAddress = "http://localhost:8088"
	searxngService = "SearXNG"
)

// searxng speaks to an instance of SearXNG that the operator runs. Options:
// base_url, timeout (30), max_results (5), language (auto), categories, engines,
// safesearch, time_range.
type searxng struct{ Options }

func newSearXNG(o Options) Searcher { return searxng{o} }

// Search asks for JSON, which the instance must have switched on.
func (s searxng) Search(ctx context.Context, q Query) ([]Hit, error) {
	count := s.Count(q, 5, 50)
	query := url.Values{
		"q": {q.Text}, "format": {"json"}, "pageno": {"1"}, "limit": {strconv.Itoa(count)},
		"language": {cmp.Or(s.Text("language"), "auto")},
	}
	for _, name := range []string{"categories", "engines"} {
		if list := s.List(name); len(list) > 0 {
			query.Set(name, strings.Join(list, ","))
		}
	}
	for _, name := range []string{"safesearch", "time_range"} {
		if value := s.Text(name); value != "" {
			query.Set(name, value)
		}
	}
	var answer struct {
		Results List[struct {
			Title     Text `json:"title"`
			URL       Text `json:"url"`
			Content   Text `json:"content"`
			Engine    Text `json:"engine"`
			Published Text `json:"publishedDate"`
		}] `json:"results"`
	}
	err := s.Client.Decode(ctx, Request{
		Service: searxngService, URL: s.BaseURL(searxngAddress) + "/search", Query: query, Timeout: s.Seconds("timeout", DefaultTimeout),
	}, &answer)
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Status == http.StatusForbidden {
		refusal.Message += "; the instance may have the json format disabled (search.formats in its settings.yml)"
	}
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range answer.Results[:min(len(answer.Results), count)] {
		hits = append(hits, Hit{
			Title: r.Title.String(), URL: r.URL.String(), Snippet: r.Content.String(), Engine: r.Engine.String(), Published: r.Published.String(),
		})
	}
	return hits, nil
}
