package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Citations tell what the citations of a run's answer and files rest on.
type Citations struct {
	Checked int        `json:"checked"`
	Fetched int        `json:"fetched"`
	Given   int        `json:"given"` // by the user
	Found   int        `json:"found"` // by a search, not read
	Unknown int        `json:"unknown"`
	Flagged []Citation `json:"flagged"` // the last two
}

// Citation is one that points at nothing which was fetched.
type Citation struct {
	Place string `json:"place"` // answer, or the virtual path of a file
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Form  string `json:"form"`  // citation, link or bare
	Grade string `json:"grade"` // found or unknown
}

// maxLines is how many citations are named one by one.
const maxLines = 10

// Lines tell people which citations to look at twice; none when all is well.
func (c *Citations) Lines() []string {
	if c == nil || len(c.Flagged) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d of %d citations point at pages that were not fetched:", len(c.Flagged), c.Checked)
	switch {
	case c.Checked == 1:
		head = "The only citation points at a page that was not fetched:"
	case len(c.Flagged) == 1:
		head = fmt.Sprintf("1 of %d citations points at a page that was not fetched:", c.Checked)
	}
	lines := []string{head}
	for i, f := range c.Flagged {
		if i == maxLines {
			return append(lines, fmt.Sprintf("and %d more", len(c.Flagged)-maxLines))
		}
		why := "nothing in the thread names it"
		if f.Grade == "found" {
			why = "found by a search, not read"
		}
		if f.Place != "answer" {
			why += ", in " + f.Place
		}
		lines = append(lines, f.URL+" ("+why+")")
	}
	return lines
}

// Source is a page that a tool has fetched or found.
type Source struct {
	URL       string    `json:"url"`
	FinalURL  string    `json:"final_url,omitempty"` // where it led, if elsewhere
	Title     string    `json:"title"`
	Kind      string    `json:"kind"` // fetch or search
	FetchedAt time.Time `json:"fetched_at"`
	Hash      string    `json:"hash"` // of the text that the server keeps; "" for none
	Size      int       `json:"size"` // bytes of it
	Truncated bool      `json:"truncated"`
	RunID     string    `json:"run_id"`
	Tool      string    `json:"tool"`
	Cited     bool      `json:"cited"`
}

// Sources lists the pages of a thread, oldest first.
func (c *Client) Sources(ctx context.Context, threadID string) ([]Source, error) {
	var answer struct {
		Sources []Source `json:"sources"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/sources"}, &answer)
	return answer.Sources, err
}

// SourceText opens the text that is kept of a page, by its hash or by at least
// eight digits of its beginning. Close it.
func (c *Client) SourceText(ctx context.Context, threadID, hash string) (io.ReadCloser, error) {
	res, err := c.open(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/sources/" + url.PathEscape(hash)})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Report is a document that is being read. Close it.
type Report struct {
	Artifact
	// Missing is how many characters of a PDF could not be shown.
	Missing int
}

// ExportReport opens the last answer of a thread, or the Markdown file at a virtual
// path, as a document: md, html or pdf.
func (c *Client) ExportReport(ctx context.Context, threadID, format, virtualPath string) (*Report, error) {
	query := url.Values{"format": {format}}
	if virtualPath != "" {
		query.Set("path", virtualPath)
	}
	res, err := c.open(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/export", query: query}) //nolint:bodyclose // whoever reads the report closes it
	if err != nil {
		return nil, err
	}
	r := &Report{Artifact: Artifact{ReadCloser: res.Body, Size: res.ContentLength, Type: res.Header.Get("Content-Type")}}
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil {
		r.Name = params["filename"]
	}
	if missing, err := strconv.Atoi(res.Header.Get("Deerflow-Missing-Glyphs")); err == nil {
		r.Missing = missing
	}
	return r, nil
}
