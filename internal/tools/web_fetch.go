package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
	"deerflow/internal/tools/web"
)

//go:embed web_fetch.md
var webFetchText string

// How much of a page is shown at once, in characters.
const (
	standardPageChars = 4096
	maxPageChars      = 100_000
)

// maxPageTitle bounds the title of a page, in characters.
const maxPageTitle = 300

type webFetchParams struct {
	URL   string `json:"url" jsonschema:"The exact URL of the page, with https:// or http://."`
	Start int    `json:"start,omitempty" jsonschema:"The character to begin at, to read on in a long page. Leave it out to begin at the top."`
}

func webFetch(make func(web.Options) web.Fetcher, o web.Options) (Tool, error) {
	return definition[webFetchParams]{
		name: "web_fetch", description: webFetchText, class: agent.ClassRead, key: agent.KeyAll, timeout: webTimeout,
		run: func(ctx context.Context, _ Call, p webFetchParams) (Result, error) {
			return runWebFetch(ctx, make(o), o, p)
		},
	}.build()
}

func runWebFetch(ctx context.Context, f web.Fetcher, o web.Options, p webFetchParams) (Result, error) {
	address, err := web.ParseAddress(p.URL)
	if err != nil {
		return fetchFailed(ctx, o, err)
	}
	page, err := f.Fetch(ctx, address.String())
	if err != nil {
		return fetchFailed(ctx, o, err)
	}
	page.Title = thread.Shorten(strings.Join(strings.Fields(page.Title), " "), maxPageTitle)
	page.Text, page.URL = strings.TrimSpace(page.Text), address.String()
	if problem := web.Judge(page); problem != nil {
		return fetchFailed(ctx, o, problem)
	}
	if kind, isError := errorPage(page.Title); isError {
		r := failure("the page is an error page: %s. It is no content and no evidence", page.Title)
		r.setKwarg(KeyMeta, kind.meta(SourceContent))
		return r, nil
	}
	if page.Status >= http.StatusBadRequest {
		return errorPageShown(page), nil
	}
	total := utf8.RuneCountInString(page.Text)
	start := max(p.Start, 0)
	if start >= total {
		return failure("the page has %d characters, there is nothing at start=%d", total, start), nil
	}
	r := text(shownPage(page, start, total, o.Int("max_chars", standardPageChars, maxPageChars)))
	r.Sources = []thread.Source{fetchedSource(address.String(), page)}
	return r, nil
}

// shownPage is a part of a page as the model sees it: the title, the text, and
// what there is to know about them.
func shownPage(page web.Page, start, total, limit int) string {
	var b strings.Builder
	if page.Title != "" {
		fmt.Fprintf(&b, "# %s\n\n", page.Title)
	}
	part := thread.FirstRunes(string([]rune(page.Text)[start:]), limit)
	b.WriteString(part)
	if page.Warning != "" {
		fmt.Fprintf(&b, " (warning: %s)", page.Warning)
	}
	fmt.Fprintf(&b, "\n\n[%s; %s", cmp.Or(page.FinalURL, page.URL), untrusted)
	if end := start + utf8.RuneCountInString(part); start > 0 || end < total {
		fmt.Fprintf(&b, ". These are characters %d to %d of %d", start, end, total)
		if end < total {
			fmt.Fprintf(&b, "; to read on, call web_fetch with the same url and start=%d", end)
		}
	}
	b.WriteString("]")
	return b.String()
}

func fetchedSource(address string, page web.Page) thread.Source {
	s := thread.Source{
		Kind: thread.SourceFetched, URL: address, Title: page.Title, ContentType: page.ContentType,
		SHA256: page.SHA256, Text: thread.Prefix(page.Text, thread.MaxSourceText),
	}
	if page.FinalURL != address {
		s.FinalURL = page.FinalURL
	}
	if s.SHA256 == "" {
		sum := sha256.Sum256([]byte(page.Text))
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	s.ContentType = cmp.Or(s.ContentType, "text/markdown")
	return s
}
