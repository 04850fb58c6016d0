package web

import (
	"context"
	"slices"
	"strings"
)

const (
	crawl4aiEnv     = "CRAWL4AI_API_TOKEN"
	crawl4aiAddress = "http://localhost:11235"
	crawl4aiService = "the Crawl4AI server"
)

// crawl4ai has a Crawl4AI server, which the operator runs, load a page. Options:
// token, base_url, timeout (30), filter (fit, raw, bm25, llm),
// allow_private_addresses, allowed_hosts.
type crawl4ai struct{ Options }

func newCrawl4AI(o Options) Fetcher { return crawl4ai{o} }

// Fetch asks /md, which has written the page as Markdown already.
func (c crawl4ai) Fetch(ctx context.Context, address string) (Page, error) {
	if err := c.Check(ctx, address); err != nil {
		return Page{}, err
	}
	request := Request{
		Service: crawl4aiService, URL: c.BaseURL(crawl4aiAddress) + "/md",
		JSON:    map[string]any{"url": address, "f": c.filter()},
		Header:  map[string]string{},
		Timeout: c.Seconds("timeout", DefaultTimeout), MaxBytes: maxBody,
	}
	if token := c.Key(crawl4aiEnv, "token", "api_token", "api_key"); token != "" {
		request.Header["Authorization"], request.Secrets = "Bearer "+token, []string{token}
	}
	var answer struct {
		Success  *bool `json:"success"`
		Markdown Text  `json:"markdown"`
	}
	if err := c.Client.Decode(ctx, request, &answer); err != nil {
		return Page{}, err
	}
	switch {
	case answer.Success == nil:
		return Page{}, Malformed(crawl4aiService)
	case !*answer.Success:
		return Page{}, failed(KindNoContent, "%s reports that it could not read the page", crawl4aiService)
	case answer.Markdown.String() == "":
		return Page{}, failed(KindNoContent, "No content found: %s returned an empty page", crawl4aiService)
	}
	return Page{URL: address, Text: answer.Markdown.String()}, nil
}

// crawl4aiFilters say what of a page is kept.
var crawl4aiFilters = []string{"fit", "raw", "bm25", "llm"}

func (c crawl4ai) filter() string {
	filter := strings.ToLower(c.Text("filter"))
	if slices.Contains(crawl4aiFilters, filter) {
		return filter
	}
	if value, there := c.Values["filter"]; there && value != nil {
		c.warnf("filter of %s is none of %s; fit is used", c.shown(value), strings.Join(crawl4aiFilters, ", "))
	}
	return crawl4aiFilters[0]
}
