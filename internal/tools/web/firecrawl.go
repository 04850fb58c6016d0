package web

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

const (
	firecrawlEnv     = "FIRECRAWL_API_KEY"
	firecrawlAddress = "https://api.firecrawl.dev"
	firecrawlService = "the Firecrawl API"
)

// firecrawl asks Firecrawl, or another service that speaks its language. Options:
// api_key, base_url, timeout (60), max_results (5); with base_url also
// allow_private_addresses, allowed_hosts.
type firecrawl struct {
	Options
	service string
	address string
	env     string // variable of the key
	keyless bool   // the service may be asked without a key
	guarded bool   // the service may stand in a private network: addresses of pages are checked
}

func newFirecrawl(o Options) firecrawl {
	return firecrawl{Options: o, service: firecrawlService, address: firecrawlAddress, env: firecrawlEnv, guarded: o.ownService()}
}

func newFirecrawlSearch(o Options) Searcher { return newFirecrawl(o) }
func newFirecrawlFetch(o Options) Fetcher   { return newFirecrawl(o) }

// crawlAnswer is what every answer has around its data.
type crawlAnswer[T any] struct {
	Success bool `json:"success"`
	Error   Text `json:"error"`
	Data    T    `json:"data"`
}

// crawlDetails are what is known of a page.
type crawlDetails struct {
	Title       Text   `json:"title"`
	Description Text   `json:"description"`
	URL         Text   `json:"url"`
	SourceURL   Text   `json:"sourceURL"`
	Status      Number `json:"statusCode"`
	ContentType Text   `json:"contentType"`
}

// crawlHit is a result of a search. One that comes with the body of its page has
// its title and address in the details.
type crawlHit struct {
	Title       Text         `json:"title"`
	URL         Text         `json:"url"`
	Description Text         `json:"description"`
	Details     crawlDetails `json:"metadata"`
}

// crawlHits are the hits under "web", or the whole data of an older service.
type crawlHits struct{ List[crawlHit] }

// UnmarshalJSON takes both shapes.
func (h *crawlHits) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &h.List) == nil {
		return nil
	}
	var sources struct {
		Web List[crawlHit] `json:"web"`
	}
	err := json.Unmarshal(data, &sources)
	h.List = sources.Web
	return err
}

// crawlAsk posts a request and gives the data of the answer.
func crawlAsk[T any](ctx context.Context, f firecrawl, path string, body map[string]any) (data T, err error) {
	key := f.Key(f.env)
	if key == "" && !f.keyless {
		return data, NotConfigured(f.env)
	}
	timeout := f.Seconds("timeout", time.Minute)
	body["timeout"], body["origin"] = timeout.Milliseconds(), "deerflow"
	request := Request{
		Service: f.service, URL: f.BaseURL(f.address) + path, JSON: body,
		Header: map[string]string{}, Secrets: []string{key}, Timeout: timeout,
	}
	if key != "" {
		request.Header["Authorization"] = "Bearer " + key
	}
	var answer crawlAnswer[T]
	if err := f.Client.Decode(ctx, request, &answer); err != nil {
		return data, err
	}
	if !answer.Success {
		reason := cmp.Or(thread.Shorten(request.redact(answer.Error.String()), maxDetail), "it gives no reason")
		return data, failed(KindFormat, "%s reports that it did not succeed: %s", f.service, reason)
	}
	return answer.Data, nil
}

// Search asks /v2/search.
func (f firecrawl) Search(ctx context.Context, q Query) ([]Hit, error) {
	count := f.Count(q, 5, 100)
	found, err := crawlAsk[crawlHits](ctx, f, "/v2/search", map[string]any{"query": q.Text, "limit": count})
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range found.List[:min(count, len(found.List))] {
		hits = append(hits, Hit{
			Title:   cmp.Or(r.Title.String(), r.Details.Title.String()),
			URL:     cmp.Or(r.URL.String(), r.Details.URL.String(), r.Details.SourceURL.String()),
			Snippet: cmp.Or(r.Description.String(), r.Details.Description.String()),
		})
	}
	return hits, nil
}

// Fetch asks /v2/scrape.
func (f firecrawl) Fetch(ctx context.Context, address string) (Page, error) {
	if f.guarded {
		if err := f.Check(ctx, address); err != nil {
			return Page{}, err
		}
	}
	got, err := crawlAsk[struct {
		Markdown Text         `json:"markdown"`
		Details  crawlDetails `json:"metadata"`
	}](ctx, f, "/v2/scrape", map[string]any{"url": address, "formats": []string{"markdown"}})
	if err != nil {
		return Page{}, err
	}
	page := Page{
		URL: address, FinalURL: landedAt(got.Details.URL.String()), ContentType: got.Details.ContentType.String(),
		Title: cmp.Or(got.Details.Title.String(), untitled), Text: got.Markdown.String(),
	}
	page.responded(int(got.Details.Status))
	if f.guarded {
		if err := f.checkLanding(ctx, page); err != nil {
			return Page{}, err
		}
	}
	if page.Text == "" {
		return Page{}, NoContent()
	}
	return page, nil
}
