package web

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

const (
	infoquestEnv     = "INFOQUEST_API_KEY"
	infoquestSearch  = "https://search.infoquest.bytepluses.com"
	infoquestReader  = "https://reader.infoquest.bytepluses.com"
	infoquestService = "InfoQuest API"
	infoquestMost    = 50 // results that are shown
)

// infoquest asks InfoQuest. Options: api_key, base_url, max_results (10), and of a
// search search_time_range (days), site; of images image_search_time_range (days, at
// most 365), image_size (l, m or i); of a fetch fetch_time, timeout,
// navigation_timeout (seconds).
type infoquest struct{ Options }

func newInfoQuestSearch(o Options) Searcher      { return infoquest{o} }
func newInfoQuestImages(o Options) ImageSearcher { return infoquest{o} }
func newInfoQuestFetch(o Options) Fetcher        { return infoquest{o} }

func (i infoquest) request(address string, body map[string]any) Request {
	r := Request{
		Service: infoquestService, URL: i.BaseURL(address), JSON: body, Header: map[string]string{},
		Timeout: i.Seconds("timeout", DefaultTimeout), MaxBytes: maxBody,
	}
	if key := i.Key(infoquestEnv); key != "" {
		r.Header["Authorization"], r.Secrets = "Bearer "+key, []string{key}
	} else {
		i.warnf("%s is not set, %s is asked without a key", infoquestEnv, infoquestService)
	}
	return r
}

// infoquestBlock is what one of the engines behind the service found.
type infoquestBlock struct {
	Content struct {
		Results struct {
			Organic List[struct {
				Title Text `json:"title"`
				Desc  Text `json:"desc"`
				URL   Text `json:"url"`
			}] `json:"organic"`
			TopStories struct {
				Items List[struct {
					Title  Text `json:"title"`
					URL    Text `json:"url"`
					Time   Text `json:"time_frame"`
					Source Text `json:"source"`
				}] `json:"items"`
			} `json:"top_stories"`
			Images List[struct {
				Title    Text `json:"title"`
				Original Text `json:"original"`
			}] `json:"images_results"`
		} `json:"results"`
	} `json:"content"`
}

// blocks asks a search and gives what came of it. An answer without a result of a
// search, such as the page of another service, is malformed.
func (i infoquest) blocks(ctx context.Context, body map[string]any) ([]infoquestBlock, error) {
	body["format"] = "JSON"
	var answer struct {
		Result *struct {
			Results List[infoquestBlock] `json:"results"`
		} `json:"search_result"`
	}
	if err := i.Client.Decode(ctx, i.request(infoquestSearch, body), &answer); err != nil {
		return nil, err
	}
	if answer.Result == nil {
		return nil, Malformed(infoquestService)
	}
	return answer.Result.Results, nil
}

// Search gives pages and news, each address once.
func (i infoquest) Search(ctx context.Context, q Query) ([]Hit, error) {
	body := map[string]any{"query": q.Text}
	i.setDays(body, "search_time_range", 0)
	if site := i.Text("site"); site != "" {
		body["site"] = site
	}
	found, err := i.blocks(ctx, body)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	seen := map[string]bool{}
	add := func(h Hit) {
		if h.URL != "" && !seen[h.URL] {
			seen[h.URL] = true
			hits = append(hits, h)
		}
	}
	for _, b := range found {
		for _, r := range b.Content.Results.Organic {
			add(Hit{Kind: "page", Title: r.Title.String(), URL: r.URL.String(), Snippet: r.Desc.String()})
		}
		for _, r := range b.Content.Results.TopStories.Items {
			if r.Title.String() != "" {
				add(Hit{Kind: "news", Title: r.Title.String(), URL: r.URL.String(), Published: r.Time.String(), Engine: r.Source.String()})
			}
		}
	}
	return hits[:min(len(hits), i.Count(q, 10, infoquestMost))], nil
}

// SearchImages gives images, each address once.
func (i infoquest) SearchImages(ctx context.Context, q ImageQuery) ([]Image, error) {
	size := strings.ToLower(i.Text("image_size"))
	if !slices.Contains([]string{"l", "m", "i"}, size) {
		if size != "" {
			i.warnf("image_size of %.40q is none of l, m and i; i is used", size)
		}
		size = "i"
	}
	body := map[string]any{"query": q.Text, "search_type": "Images", "image_size": size}
	i.setDays(body, "image_search_time_range", 365)
	found, err := i.blocks(ctx, body)
	if err != nil {
		return nil, err
	}
	var images foundImages
	seen := map[string]bool{}
	for _, b := range found {
		for _, r := range b.Content.Results.Images {
			if address := r.Original.String(); address != "" && !seen[address] {
				seen[address] = true
				images.add(Image{Title: r.Title.String()}, picture{address: r.Original}, picture{})
			}
		}
	}
	return images.first(i.Count(Query{Max: q.Max}, 10, infoquestMost))
}

// Fetch gets the HTML of a page and makes it readable here.
func (i infoquest) Fetch(ctx context.Context, address string) (Page, error) {
	body := map[string]any{"url": address, "format": "HTML"}
	for field, option := range map[string]string{"fetch_time": "fetch_time", "timeout": "timeout", "navi_timeout": "navigation_timeout"} {
		if seconds := i.Seconds(option, 0); seconds > 0 {
			body[field] = int(math.Ceil(seconds.Seconds()))
		}
	}
	response, err := i.Client.Do(ctx, i.request(infoquestReader, body))
	if err != nil {
		return Page{}, err
	}
	source := response.Body
	var answer struct {
		Result  Text `json:"reader_result"`
		Content Text `json:"content"`
	}
	if json.Unmarshal(source, &answer) == nil {
		source = []byte(cmp.Or(answer.Result.String(), answer.Content.String()))
	}
	if strings.TrimSpace(string(source)) == "" {
		return Page{}, NoContent()
	}
	return readablePage(ctx, address, address, source)
}

// setDays sets the range of time of a search if the entry has one: a number of
// days, with a bound unless that is 0.
func (i infoquest) setDays(body map[string]any, option string, most float64) {
	if n, ok := number(i.Values[option]); ok && n >= 1 && (most == 0 || n <= most) {
		body["time_range"] = int(n)
	}
}
