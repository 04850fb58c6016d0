package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	browserlessEnv     = "BROWSERLESS_TOKEN"
	browserlessAddress = "http://localhost:3032"
	browserlessService = "the Browserless server"
	selectorTimeout    = 5000 // milliseconds
)

// browserless has a Browserless server, which the operator runs, load a page in a
// browser. Options: token, base_url, timeout_s or timeout (30), wait_for_event,
// wait_for_timeout_ms, wait_for_selector, allow_private_addresses, allowed_hosts; of
// a fetch reject_resource_types, reject_request_pattern; of a picture quality (of
// jpeg and webp), viewport_width, viewport_height, best_attempt.
type browserless struct{ Options }

func newBrowserlessFetch(o Options) Fetcher    { return browserless{o} }
func newBrowserlessCapture(o Options) Capturer { return browserless{o} }

// ask has the server load a page for a purpose and gives the answer with the
// page's own status and address in it.
func (b browserless) ask(ctx context.Context, path, address string, body map[string]any) (Response, Page, error) {
	if err := b.Check(ctx, address); err != nil {
		return Response{}, Page{}, err
	}
	timeout := b.timeout()
	body["url"] = address
	b.waitFor(body, timeout)
	request := Request{
		Service: browserlessService, URL: b.BaseURL(browserlessAddress) + path, JSON: body,
		Query:   url.Values{"timeout": {strconv.FormatInt(timeout.Milliseconds(), 10)}},
		Header:  map[string]string{"Accept": "*/*", "Cache-Control": "no-cache"},
		Timeout: timeout, MaxBytes: maxBody,
	}
	// The server reads its token from the query and nowhere in the body.
	if token := b.Key(browserlessEnv, "token", "api_key"); token != "" {
		request.Query.Set("token", token)
		request.Secrets = []string{token, url.QueryEscape(token)}
	}
	response, err := b.Client.Do(ctx, request)
	if err != nil {
		return Response{}, Page{}, err
	}
	page := Page{URL: address, FinalURL: address}
	if landed := landedAt(response.Header.Get("X-Response-Url")); landed != "" {
		page.FinalURL = landed
	}
	status, _ := strconv.Atoi(response.Header.Get("X-Response-Code"))
	page.responded(status)
	return response, page, b.checkLanding(ctx, page)
}

// timeout is how long the server may take.
func (b browserless) timeout() time.Duration {
	return b.Seconds("timeout_s", b.Seconds("timeout", DefaultTimeout))
}

// waitFor says in the body what to wait for once the page is loaded.
func (b browserless) waitFor(body map[string]any, timeout time.Duration) {
	if event := b.Text("wait_for_event"); event != "" {
		body["waitForEvent"] = map[string]any{"event": event, "timeout": timeout.Milliseconds()}
	}
	if n, ok := number(b.Values["wait_for_timeout_ms"]); ok && n > 0 {
		body["waitForTimeout"] = int(min(n, float64(timeout.Milliseconds())))
	}
	if selector := b.Text("wait_for_selector"); selector != "" {
		body["waitForSelector"] = map[string]any{"selector": selector, "timeout": selectorTimeout}
	}
}

// Fetch asks /content for the HTML of a page and makes it readable here.
func (b browserless) Fetch(ctx context.Context, address string) (Page, error) {
	body := map[string]any{}
	if kinds := b.List("reject_resource_types"); len(kinds) > 0 {
		body["rejectResourceTypes"] = kinds
	}
	if patterns := b.List("reject_request_pattern"); len(patterns) > 0 {
		body["rejectRequestPattern"] = patterns
	}
	response, visited, err := b.ask(ctx, "/content", address, body)
	if err != nil {
		return Page{}, err
	}
	if strings.TrimSpace(string(response.Body)) == "" {
		return Page{}, failed(KindNoContent, "No content found: %s returned an empty page", browserlessService)
	}
	page, err := readablePage(ctx, address, visited.FinalURL, response.Body)
	page.Status, page.Warning = visited.Status, visited.Warning
	return page, err
}
