package web

import (
	"cmp"
	"context"
)

const (
	groundrouteEnv     = "GROUNDROUTE_API_KEY"
	groundrouteAddress = "https://api.groundroute.ai"
	groundrouteService = "GroundRoute API"
	groundrouteMost    = 50 // results of a search
)

// groundroute asks GroundRoute, which passes a search on to one of several engines.
// Options: api_key, base_url, timeout (30), max_results (5) for a model that does
// not say how many it wants.
type groundroute struct{ Options }

func newGroundRouteSearch(o Options) Searcher { return groundroute{o} }
func newGroundRouteFetch(o Options) Fetcher   { return groundroute{o} }

// groundrouteHit is a result of a search or a page.
type groundrouteHit struct {
	Title     Text `json:"title"`
	URL       Text `json:"url"`
	Snippet   Text `json:"snippet"`
	Content   Text `json:"content"`
	Engine    Text `json:"source_engine"`
	Published Text `json:"published_at"`
}

func (g groundroute) ask(ctx context.Context, body map[string]any) ([]groundrouteHit, error) {
	key, err := g.NeedKey(groundrouteEnv)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results List[groundrouteHit] `json:"results"`
	}
	err = g.Client.Decode(ctx, Request{
		Service: groundrouteService, URL: g.BaseURL(groundrouteAddress) + "/v1/search", JSON: body,
		Header: map[string]string{"Authorization": "Bearer " + key}, Secrets: []string{key},
		Timeout: g.Seconds("timeout", DefaultTimeout),
	}, &answer)
	return answer.Results, err
}

// Search asks /v1/search. Here the model's number of results comes before that of
// the entry.
func (g groundroute) Search(ctx context.Context, q Query) ([]Hit, error) {
	count := min(q.Max, groundrouteMost)
	if count <= 0 {
		count = g.Int("max_results", 5, groundrouteMost)
	}
	found, err := g.ask(ctx, map[string]any{"query": q.Text, "max_results": count})
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range found[:min(count, len(found))] {
		hits = append(hits, Hit{
			Title: r.Title.String(), URL: r.URL.String(), Snippet: cmp.Or(r.Snippet.String(), r.Content.String()),
			Engine: r.Engine.String(), Published: r.Published.String(),
		})
	}
	return hits, nil
}

// Fetch asks for a page in place of a search.
func (g groundroute) Fetch(ctx context.Context, address string) (Page, error) {
	found, err := g.ask(ctx, map[string]any{"query": address, "mode": "page", "max_results": 1})
	switch {
	case err != nil:
		return Page{}, err
	case len(found) == 0:
		return Page{}, NoResults()
	}
	page := Page{URL: address, Title: cmp.Or(found[0].Title.String(), untitled)}
	page.Text = cmp.Or(found[0].Content.String(), found[0].Snippet.String())
	if page.Text == "" {
		return Page{}, NoContent()
	}
	return page, nil
}
