package tools

import (
	"net/http"
	"unicode/utf8"

	"deerflow/internal/thread"
	"deerflow/internal/tools/web"
)

// maxErrorPage is how much of an error page is shown, in characters.
const maxErrorPage = 1000

// errorPageShown is the result for a page that a service brought although it came
// with a status that is no success. What it says can help, but it is no content: an
// error, and no source.
func errorPageShown(page web.Page) Result {
	page.Text = thread.Shorten(page.Text, maxErrorPage)
	shown := shownPage(page, 0, utf8.RuneCountInString(page.Text), maxErrorPage)
	r := failure("%s. What the page shows is no content and no evidence:\n\n%s", web.PageError(page.Status, 0, ""), shown)
	r.stampPage(page.Status)
	return r
}

// stampPage classifies the result for a page by its status: words that are found in
// the page, or in what a service says of it, mean nothing.
func (r *Result) stampPage(status int) {
	if status == http.StatusGone {
		status = http.StatusNotFound
	}
	kind, ok := errorPage(http.StatusText(status))
	if !ok {
		kind = unknownKind
	}
	r.setKwarg(KeyMeta, kind.meta(SourceContent))
}
