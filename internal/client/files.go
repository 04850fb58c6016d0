package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// Upload sends a file to a thread, which need not exist yet. The server may
// store it under another name: the answer has it.
func (c *Client) Upload(ctx context.Context, threadID, name string, content io.Reader) (File, error) {
	body, feed := io.Pipe()
	form := multipart.NewWriter(feed)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		part, err := form.CreateFormFile("files", name)
		if err == nil {
			_, err = io.Copy(part, content)
		}
		if err == nil {
			err = form.Close()
		}
		feed.CloseWithError(err)
	}()
	defer func() { <-sent }()
	defer func() { _ = body.Close() }() // ends the copy when the server answers early
	r := request{
		method: http.MethodPost, path: threadPath(threadID) + "/uploads", body: io.Reader(body),
		header: map[string]string{"Content-Type": form.FormDataContentType()},
	}
	res, err := c.open(ctx, r)
	if err != nil {
		return File{}, fmt.Errorf("upload %s: %w", name, err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Files []File `json:"files"`
	}
	if err := decodeBody(res.Body, &answer); err != nil {
		return File{}, fmt.Errorf("upload %s: %w", name, err)
	}
	if len(answer.Files) != 1 {
		return File{}, fmt.Errorf("upload %s: the server stored %d files", name, len(answer.Files))
	}
	return answer.Files[0], nil
}

// Artifact is a file of a thread that is being read. Close it.
type Artifact struct {
	io.ReadCloser
	Name string
	Size int64 // -1 when the server does not say
	Type string
}

// DownloadArtifact opens a file of a thread by its virtual path, such as
// /mnt/user-data/outputs/report.md.
func (c *Client) DownloadArtifact(ctx context.Context, threadID, virtualPath string) (*Artifact, error) {
	parts := strings.Split(strings.Trim(virtualPath, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	r := request{
		method: http.MethodGet, path: threadPath(threadID) + "/artifacts/" + strings.Join(parts, "/"),
		query: url.Values{"download": {"true"}},
	}
	res, err := c.open(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", virtualPath, err)
	}
	a := &Artifact{ReadCloser: res.Body, Size: res.ContentLength, Type: res.Header.Get("Content-Type")}
	a.Name = virtualPath[strings.LastIndexByte(virtualPath, '/')+1:]
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		a.Name = params["filename"]
	}
	if strings.ContainsAny(a.Name, `/\`) {
		return nil, errors.Join(fmt.Errorf("download %s: the server names the file %q", virtualPath, a.Name), res.Body.Close())
	}
	return a, nil
}
