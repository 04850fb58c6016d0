package thread

import "time"

// SourceKind says what a [Source] is worth as evidence.
type SourceKind string

// The kinds of sources.
const (
	// SourceFetched is a page whose text was read.
	SourceFetched SourceKind = "fetch"
	// SourceFound is a hit of a search: its address and title are known, the page
	// was not read.
	SourceFound SourceKind = "search"
)

// MaxSourceText bounds the text of a [Source], in bytes.
const MaxSourceText = 512 << 10

// Source is a page that a tool brought: what a citation may point at.
type Source struct {
	Kind        SourceKind `json:"kind"`
	URL         string     `json:"url"`                 // as it was asked for
	FinalURL    string     `json:"final_url,omitempty"` // where redirects led, if elsewhere
	Title       string     `json:"title,omitempty"`
	ContentType string     `json:"content_type,omitempty"`
	// SHA256 is the hash of the body as it came, in hex; where a service fetched
	// the page, of the text that it gave. Empty for a hit of a search.
	SHA256 string `json:"sha256,omitempty"`
	// Text is the whole text as Markdown, at most [MaxSourceText], however much of
	// it the model was shown.
	Text string `json:"-"`
	// FetchedAt is when the page came; whoever stores the source sets it.
	FetchedAt time.Time `json:"fetched_at,omitzero"`
}
