package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// landedAt is where a service says that it was led, "" if that is no address of a
// page: the text comes from far away and is shown.
func landedAt(address string) string {
	u, err := ParseAddress(address)
	if err != nil {
		return ""
	}
	return u.String()
}

// ownService reports whether the entry names a service of the operator's own, which
// may stand in a private network and must not be sent around there by a model.
func (o Options) ownService() bool { return o.Text("base_url") != "" }

// checkLanding refuses a page of a service that was led to an address that must
// not be visited. Its text has been loaded by then, but no model gets to see it.
func (o Options) checkLanding(ctx context.Context, page Page) error {
	if page.FinalURL == "" || page.FinalURL == page.URL {
		return nil
	}
	return o.Check(ctx, page.FinalURL)
}

// responded notes the status with which a page itself answered a service; 0 is one
// that the service did not tell.
func (p *Page) responded(status int) {
	p.Status = status
	if status != 0 && (status < 200 || status > 399) {
		p.Warning = strings.TrimSpace(fmt.Sprintf("target page responded %d %s", status, http.StatusText(status)))
	}
}

// readablePage is a page of which a service gave the HTML.
func readablePage(ctx context.Context, address, landed string, source []byte) (Page, error) {
	article, err := Readable(ctx, source, landed)
	if err != nil {
		return Page{}, err
	}
	return Page{URL: address, FinalURL: landed, Title: article.Title, Text: article.Text, Login: article.Login}, nil
}
