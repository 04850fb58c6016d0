package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// Thread is a conversation as the API shows it.
type Thread struct {
	ThreadID   string                 `json:"thread_id"`
	Status     string                 `json:"status"` // idle, busy, interrupted, error
	CreatedAt  string                 `json:"created_at"`
	UpdatedAt  string                 `json:"updated_at"`
	Metadata   map[string]any         `json:"metadata"`
	Values     Values                 `json:"values"`
	Interrupts map[string][]Interrupt `json:"interrupts"`
}

// Interrupt is a question that a thread waits on.
type Interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// State is one checkpoint of a thread.
type State struct {
	Values       Values         `json:"values"`
	Next         []string       `json:"next"`
	Tasks        []StateTask    `json:"tasks"`
	Metadata     map[string]any `json:"metadata"`
	CreatedAt    string         `json:"created_at"`
	CheckpointID string         `json:"checkpoint_id"`
	ParentID     string         `json:"parent_checkpoint_id"` // empty for the first
}

// StateTask is what a thread would do next.
type StateTask struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Interrupts []Interrupt `json:"interrupts"`
}

// CreateThread makes a thread; the id may be empty, the metadata nil.
func (a *API) CreateThread(ctx context.Context, id string, metadata map[string]any) (Thread, error) {
	body := map[string]any{}
	if id != "" {
		body["thread_id"] = id
	}
	if metadata != nil {
		body["metadata"] = metadata
	}
	var thread Thread
	_, err := a.Do(ctx, http.MethodPost, "/threads", body, &thread)
	return thread, err
}

// Thread returns a thread.
func (a *API) Thread(ctx context.Context, id string) (Thread, error) {
	var thread Thread
	_, err := a.Do(ctx, http.MethodGet, threadPath(id), nil, &thread)
	return thread, err
}

// DeleteThread deletes a thread.
func (a *API) DeleteThread(ctx context.Context, id string) error {
	_, err := a.Do(ctx, http.MethodDelete, threadPath(id), nil, nil)
	return err
}

// SearchThreads lists threads; query is the request as it is sent.
func (a *API) SearchThreads(ctx context.Context, query map[string]any) ([]Thread, error) {
	var threads []Thread
	_, err := a.Do(ctx, http.MethodPost, "/threads/search", query, &threads)
	return threads, err
}

// State returns the head of a thread.
func (a *API) State(ctx context.Context, threadID string) (State, error) {
	var state State
	_, err := a.Do(ctx, http.MethodGet, threadPath(threadID)+"/state", nil, &state)
	return state, err
}

// UpdateState writes channels of a thread.
func (a *API) UpdateState(ctx context.Context, threadID string, values map[string]any) error {
	_, err := a.Do(ctx, http.MethodPost, threadPath(threadID)+"/state", map[string]any{"values": values}, nil)
	return err
}

// History returns up to limit checkpoints of a thread, the newest first.
func (a *API) History(ctx context.Context, threadID string, limit int) ([]State, error) {
	var states []State
	_, err := a.Do(ctx, http.MethodPost, threadPath(threadID)+"/history", map[string]any{"limit": limit}, &states)
	return states, err
}

// UploadFile is a file to upload.
type UploadFile struct {
	Name    string
	Content []byte
}

// Upload is the answer to an upload.
type Upload struct {
	Success bool           `json:"success"`
	Message string         `json:"message"`
	Files   []UploadedFile `json:"files"`
	Skipped []string       `json:"skipped_files"`
}

// UploadedFile is a file of a thread as the API shows it.
type UploadedFile struct {
	Filename    string      `json:"filename"`
	Size        json.Number `json:"size"` // bytes
	VirtualPath string      `json:"virtual_path"`
	ArtifactURL string      `json:"artifact_url"`

	// The text of a document, or why there is none.
	MarkdownFile        string `json:"markdown_file"`
	MarkdownVirtualPath string `json:"markdown_virtual_path"`
	MarkdownArtifactURL string `json:"markdown_artifact_url"`
	ConversionError     string `json:"conversion_error"`
}

// Upload sends files to a thread, which need not exist yet. The route exists
// only in DeerFlow's dialect, whatever the prefix of the client.
func (a *API) Upload(ctx context.Context, threadID string, files ...UploadFile) (Upload, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, file := range files {
		part, err := form.CreateFormFile("files", file.Name)
		if err != nil {
			return Upload{}, fmt.Errorf("upload %s: %w", file.Name, err)
		}
		if _, err := part.Write(file.Content); err != nil {
			return Upload{}, fmt.Errorf("upload %s: %w", file.Name, err)
		}
	}
	if err := form.Close(); err != nil {
		return Upload{}, fmt.Errorf("upload to thread %s: %w", threadID, err)
	}
	var answer Upload
	sender := a.WithPrefix("/api").WithHeader("Content-Type", form.FormDataContentType())
	_, err := sender.Do(ctx, http.MethodPost, threadPath(threadID)+"/uploads", body.Bytes(), &answer)
	return answer, err
}

// Artifact returns a file of a thread by its virtual path, such as
// /mnt/user-data/outputs/report.md.
func (a *API) Artifact(ctx context.Context, threadID, virtualPath string) ([]byte, error) {
	segments := strings.Split(strings.Trim(virtualPath, "/"), "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	var content []byte
	path := threadPath(threadID) + "/artifacts/" + strings.Join(segments, "/")
	_, err := a.WithPrefix("/api").Do(ctx, http.MethodGet, path, nil, &content)
	return content, err
}

func threadPath(id string) string {
	return "/threads/" + url.PathEscape(id)
}
