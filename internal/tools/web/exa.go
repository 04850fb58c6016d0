package web

import (
	"cmp"
	"context"
	"strings"
)

const (
	exaEnv     = "EXA_API_KEY"
	exaAddress = "https://api.exa.ai"
	exaService = "the Exa API"
	// exaText is how much of a page is asked for, in characters: a page can be read
	// on in several calls, so more than one result shows.
	exaText = 100_000
)

// exa asks Exa. Options: api_key, base_url, timeout (30), max_results (5),
// search_type (auto), contents_max_characters (1000) for the snippet of a hit.
type exa struct{ Options }

func newExaSearch(o Options) Searcher { return exa{o} }
func newExaFetch(o Options) Fetcher   { return exa{o} }

func (e exa) request(path string, body any) (Request, error) {
	key, err := e.NeedKey(exaEnv)
	return Request{
		Service: exaService, URL: e.BaseURL(exaAddress) + path, JSON: body,
		Header: map[string]string{"x-api-key": key}, Secrets: []string{key},
		Timeout: e.Seconds("timeout", DefaultTimeout),
	}, err
}

// Search asks /search.
func (e exa) Search(ctx context.Context, q Query) ([]Hit, error) {
	kind := e.Text("search_type")
	if kind == "" {
		kind = "auto"
	}
	count := e.Count(q, 5, 100)
	request, err := e.request("/search", map[string]any{
		"query": q.Text, "type": kind, "numResults": count,
		"contents": map[string]any{"highlights": map[string]any{"maxCharacters": e.Int("contents_max_characters", 1000, 10_000)}},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results List[struct {
			Title      Text       `json:"title"`
			URL        Text       `json:"url"`
			Highlights List[Text] `json:"highlights"`
			Published  Text       `json:"publishedDate"`
		}] `json:"results"`
	}
	if err := e.Client.Decode(ctx, request, &answer); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range answer.Results[:min(count, len(answer.Results))] {
		var lines []string
		for _, h := range r.Highlights {
			lines = append(lines, h.String())
		}
		hits = append(hits, Hit{
			Title: r.Title.String(), URL: r.URL.String(),
			Snippet: strings.Join(lines, "\n"), Published: r.Published.String(),
		})
	}
	return hits, nil
}

// Fetch asks /contents.
func (e exa) Fetch(ctx context.Context, address string) (Page, error) {
	request, err := e.request("/contents", map[string]any{
		"urls": []string{address}, "text": map[string]any{"maxCharacters": exaText},
	})
	if err != nil {
		return Page{}, err
	}
	var answer struct {
		Results List[struct {
			Title Text `json:"title"`
			URL   Text `json:"url"`
			Text  Text `json:"text"`
		}] `json:"results"`
		// Statuses say for each page why there is none.
		Statuses List[struct {
			Error *struct {
				Tag    Text   `json:"tag"`
				Status Number `json:"httpStatusCode"`
			} `json:"error"`
		}] `json:"statuses"`
	}
	if err := e.Client.Decode(ctx, request, &answer); err != nil {
		return Page{}, err
	}
	if len(answer.Results) > 0 {
		r := answer.Results[0]
		page := Page{URL: address, FinalURL: landedAt(r.URL.String()), Title: cmp.Or(r.Title.String(), untitled), Text: r.Text.String()}
		return page, nil
	}
	for _, s := range answer.Statuses {
		if s.Error == nil {
			continue
		}
		if s.Error.Status >= 400 {
			return Page{}, PageError(int(s.Error.Status), 0, s.Error.Tag.String())
		}
		return Page{}, failed(KindNoContent, "No content found: %s could not read the page (%.80s)", exaService, s.Error.Tag)
	}
	return Page{}, NoResults()
}
