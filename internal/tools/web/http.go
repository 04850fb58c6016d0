package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path"
	"time"
)

// userAgent is how requests introduce themselves unless an entry says otherwise.
const userAgent = "Mozilla/5.0 (compatible; DeerFlow)"

// Bounds of a plain fetch.
const (
	maxBody      = 10 << 20 // bytes, unpacked; a text is cut there
	maxRedirects = 10
)

// plain fetches pages itself, with no service in between. Options: timeout (30),
// user_agent, allow_private_addresses, allowed_hosts.
type plain struct{ Options }

func newHTTP(o Options) Fetcher { return plain{o} }

// Fetch gets a page. Every hop of a redirect is checked like the first address. An
// HTTP status of 400 and more is an error: an error page is no content.
func (h plain) Fetch(ctx context.Context, address string) (Page, error) {
	timeout := h.Seconds("timeout", DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	policy := h.policy()
	u, err := h.Client.Check(ctx, address, policy)
	if err != nil {
		return Page{}, err
	}
	u.Fragment = ""
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, failed(KindInput, "that is no valid URL")
	}
	agent := h.Text("user_agent")
	if agent == "" {
		agent = userAgent
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5")
	request.Header.Set("Accept-Language", "en, *;q=0.5")
	client, done := h.Client.visitor(policy)
	defer done()
	answer, err := client.Do(request)
	if err != nil {
		return Page{}, unvisited(err, u.Hostname(), timeout)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return Page{}, unvisited(err, u.Hostname(), timeout)
	}
	return h.page(ctx, address, answer, body)
}

// visitor is an HTTP client that goes only where the policy lets it, whatever
// proxies the environment names.
func (c *Client) visitor(p Policy) (client *http.Client, done func()) {
	t := &http.Transport{
		DialContext: c.dialChecked(p), ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: 256 << 10,
	}
	jar, _ := cookiejar.New(nil) // never fails; some sites redirect for ever without cookies
	return &http.Client{Transport: t, Jar: jar, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return failed(KindNetwork, "the page redirects more than %d times", maxRedirects)
		}
		_, err := c.Check(next.Context(), next.URL.String(), p)
		return err
	}}, t.CloseIdleConnections
}

// unvisited says why a page could not be had.
func unvisited(err error, host string, timeout time.Duration) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return Request{Service: host}.broken(err, timeout)
}

// page makes a page of an answer.
func (h plain) page(ctx context.Context, address string, answer *http.Response, body []byte) (Page, error) {
	sum := sha256.Sum256(body)
	page := Page{
		URL: address, FinalURL: answer.Request.URL.String(), Status: answer.StatusCode,
		SHA256: hex.EncodeToString(sum[:]), Bytes: len(body),
	}
	whole := len(body) <= maxBody
	if !whole {
		body = body[:maxBody]
		page.Warning = "the page is longer than " + size(maxBody) + ", the rest was not read"
	}
	content := contentOf(answer.Header.Get("Content-Type"), body)
	page.ContentType = content.Type
	err := h.read(ctx, &page, content, body, whole)
	if page.Status >= http.StatusBadRequest {
		return Page{}, errorPage(answer, page)
	}
	return page, err
}

// errorPage says that a page came with a status that is no success.
func errorPage(answer *http.Response, page Page) *Error {
	e := PageError(page.Status, retryAfter(answer.Header), "")
	if challenged(page.Title, page.Text) || answer.Header.Get("Cf-Mitigated") == "challenge" {
		e.Message += ": access denied, the site checks for robots (a captcha)"
	}
	return e
}

// read takes the text out of a body by its type.
func (h plain) read(ctx context.Context, page *Page, content contentType, body []byte, whole bool) error {
	page.Title = nameOf(page.FinalURL)
	switch content.form {
	case formHTML:
		article, err := Readable(ctx, content.decode(body), page.FinalURL)
		page.Title, page.Text, page.Login = article.Title, article.Text, article.Login
		return err
	case formText:
		page.Text = string(content.decode(body))
		return nil
	case formDocument:
		return h.document(ctx, page, content, body, whole)
	case formBinary:
	}
	return failed(KindFormat, "the address holds binary data (%s, %s), which is not shown; download it with bash if you need it", content.Type, size(int64(len(body))))
}

// document turns a document into text, if the process can.
func (h plain) document(ctx context.Context, page *Page, content contentType, body []byte, whole bool) error {
	switch {
	case !whole:
		return failed(KindFormat, "the address holds a %s of more than %s, which is too large to be read here; download it with bash if you need it", content.document, size(maxBody))
	case h.Client.documents == nil:
		return failed(KindFormat, "the address holds a %s (%s), which is not read here; download it with bash, or ask the user to upload it", content.document, size(int64(len(body))))
	}
	text, err := h.Client.documents.Convert(ctx, "page"+content.extension, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return failed(KindFormat, "the %s at the address cannot be turned into text: %.200s", content.document, err)
	}
	page.Text = text
	return nil
}

// nameOf is the last part of an address, to call a page that has no title by.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return untitled
	}
	if name := path.Base(u.Path); name != "." && name != "/" {
		return name
	}
	return u.Hostname()
}
