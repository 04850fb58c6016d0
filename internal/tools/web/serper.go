package web

import (
	"context"

	"deerflow/internal/thread"
)

const (
	serperEnv     = "SERPER_API_KEY"
	serperAddress = "https://google.serper.dev"
	serperService = "Serper API"
	serperQuery   = 500 // characters of a query
	serperMost    = 10  // results of a search
)

// serper asks Serper, which passes on what Google finds. Options: api_key,
// base_url, timeout (30), max_results (5), gl (country), hl (language), location.
type serper struct{ Options }

func newSerperSearch(o Options) Searcher      { return serper{o} }
func newSerperImages(o Options) ImageSearcher { return serper{o} }

func (s serper) request(path string, q Query, count int) (Request, error) {
	key, err := s.NeedKey(serperEnv)
	if err != nil {
		return Request{}, err
	}
	body := map[string]any{"q": thread.FirstRunes(q.Text, serperQuery), "num": count}
	for _, name := range []string{"gl", "hl", "location"} {
		if value := s.Text(name); value != "" {
			body[name] = value
		}
	}
	return Request{
		Service: serperService, URL: s.BaseURL(serperAddress) + path, JSON: body,
		Header: map[string]string{"X-API-KEY": key}, Secrets: []string{key},
		Timeout: s.Seconds("timeout", DefaultTimeout),
	}, nil
}

// Search asks /search.
func (s serper) Search(ctx context.Context, q Query) ([]Hit, error) {
	count := s.Count(q, 5, serperMost)
	request, err := s.request("/search", q, count)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Organic List[struct {
			Title   Text `json:"title"`
			Link    Text `json:"link"`
			Snippet Text `json:"snippet"`
			Date    Text `json:"date"`
		}] `json:"organic"`
	}
	if err := s.Client.Decode(ctx, request, &answer); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range answer.Organic[:min(count, len(answer.Organic))] {
		hits = append(hits, Hit{Title: r.Title.String(), URL: r.Link.String(), Snippet: r.Snippet.String(), Published: r.Date.String()})
	}
	return hits, nil
}

// SearchImages asks /images.
func (s serper) SearchImages(ctx context.Context, q ImageQuery) ([]Image, error) {
	query := Query{Text: q.Text, Max: q.Max}
	count := s.Count(query, 5, serperMost)
	request, err := s.request("/images", query, count)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Images List[struct {
			Title       Text   `json:"title"`
			Image       Text   `json:"imageUrl"`
			Width       Number `json:"imageWidth"`
			Height      Number `json:"imageHeight"`
			Thumbnail   Text   `json:"thumbnailUrl"`
			ThumbWidth  Number `json:"thumbnailWidth"`
			ThumbHeight Number `json:"thumbnailHeight"`
			Link        Text   `json:"link"`
			Source      Text   `json:"source"`
		}] `json:"images"`
	}
	if err := s.Client.Decode(ctx, request, &answer); err != nil {
		return nil, err
	}
	var found foundImages
	for _, r := range answer.Images {
		found.add(Image{Title: r.Title.String(), SourceURL: r.Link.String(), Source: r.Source.String()},
			picture{r.Image, r.Width, r.Height}, picture{r.Thumbnail, r.ThumbWidth, r.ThumbHeight})
	}
	return found.first(count)
}
