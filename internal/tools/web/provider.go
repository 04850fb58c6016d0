package web

import (
	"context"
	"slices"
)

// Provider is who stands behind a tool. A field is nil where it has none.
type Provider struct {
	// Name is the part of an entry's use before the colon.
	Name    string
	Search  func(Options) Searcher
	Fetch   func(Options) Fetcher
	Images  func(Options) ImageSearcher
	Capture func(Options) Capturer
}

// Providers are all providers, by name.
func Providers() []Provider {
	return []Provider{
		{Name: "http", Fetch: newHTTP},
		{Name: "tavily", Search: newTavilySearch, Fetch: newTavilyFetch},
		{Name: "brave", Search: newBraveSearch, Images: newBraveImages},
		{Name: "ddg", Search: newDDGSearch, Images: newDDGImages},
		{Name: "searxng", Search: newSearXNG},
		{Name: "serper", Search: newSerperSearch, Images: newSerperImages},
		{Name: "exa", Search: newExaSearch, Fetch: newExaFetch},
		{Name: "firecrawl", Search: newFirecrawlSearch, Fetch: newFirecrawlFetch},
		{Name: "fastcrw", Search: newFastCRWSearch, Fetch: newFastCRWFetch},
		{Name: "jina", Fetch: newJina},
		{Name: "groundroute", Search: newGroundRouteSearch, Fetch: newGroundRouteFetch},
		{Name: "infoquest", Search: newInfoQuestSearch, Fetch: newInfoQuestFetch, Images: newInfoQuestImages},
		{Name: "crawl4ai", Fetch: newCrawl4AI},
		{Name: "browserless", Fetch: newBrowserlessFetch, Capture: newBrowserlessCapture},
	}
}

// Find is the provider of that name.
func Find(name string) (Provider, bool) {
	all := Providers()
	i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return all[i], true
}

// Searcher searches the web. No hits and no error means that there are none.
type Searcher interface {
	Search(ctx context.Context, q Query) ([]Hit, error)
}

// Fetcher gets the text of a page. The tool has checked that the address is an
// absolute one with http or https; a fetcher that goes there itself, or sends a
// service of the operator's own there, checks the rest with [Options.Check]. What
// the page says is judged by the tool, see [Judge].
type Fetcher interface {
	Fetch(ctx context.Context, address string) (Page, error)
}

// ImageSearcher finds images.
type ImageSearcher interface {
	SearchImages(ctx context.Context, q ImageQuery) ([]Image, error)
}

// Capturer takes a picture of a page.
type Capturer interface {
	Capture(ctx context.Context, r CaptureRequest) (Shot, error)
}

// Query is what to search for.
type Query struct {
	Text string
	Max  int // how many hits the model wants; 0: it did not say. See [Options.Count].
}

// Hit is one result of a search.
type Hit struct {
	Title     string
	URL       string
	Snippet   string
	Source    string // name of the provider
	Engine    string // the engine behind a provider that asks several
	Kind      string // page or news, where a provider tells them apart
	Published string // as the provider says it
}

// Page is a fetched page.
type Page struct {
	URL         string // as it was asked for
	FinalURL    string // where redirects led; empty: the same
	Title       string // empty: the text is shown without a title
	Text        string // Markdown
	Status      int    // of the page itself, 0 where a provider does not tell
	ContentType string // of the page itself
	Login       bool   // the page asks for a password
	// Warning is said under the text, such as a status that is no success.
	Warning string
	SHA256  string // of the body as it came, in hex; empty: of Text
	Bytes   int    // of the body as it came, 0 where a provider does not tell
}

// ImageQuery is which images to look for. Everything but the text is optional.
type ImageQuery struct {
	Text   string
	Max    int
	Size   string // Small, Medium, Large, Wallpaper
	Type   string // photo, clipart, gif, transparent, line
	Layout string // Square, Tall, Wide
}

// Image is one result of a search for images. Its addresses went through
// [SafeImageURL].
type Image struct {
	Title        string
	ImageURL     string // in full size
	ThumbnailURL string
	SourceURL    string // the page it is on
	Source       string // the name of that site
	Width        int    // pixels, of what ImageURL names; 0: unknown
	Height       int
}

// CaptureRequest is which picture to take.
type CaptureRequest struct {
	URL      string
	FullPage bool
	Format   string // png, jpeg or webp; empty is png
	Width    int    // of the window, pixels; 0 is the provider's own
	Height   int
}

// Shot is a picture of a page.
type Shot struct {
	Data        []byte
	ContentType string
	FinalURL    string
	Warning     string
}
