package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"deerflow/internal/thread"
)

// Health asks the server how it is. A server that lacks a part gives both what
// it says and an [ErrUnavailable].
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/health"}, &h)
	var status *StatusError
	if errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		h.Status, h.Detail = "unhealthy", status.Detail
	}
	return h, err
}

// NewThread is a thread to create.
type NewThread struct {
	ID       string // "" takes a new one
	Metadata map[string]any
}

// CreateThread makes a thread. One that exists is given as it is.
func (c *Client) CreateThread(ctx context.Context, n NewThread) (Thread, error) {
	body := map[string]any{"if_exists": "do_nothing"}
	if n.ID != "" {
		body["thread_id"] = n.ID
	}
	if n.Metadata != nil {
		body["metadata"] = n.Metadata
	}
	var t Thread
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/threads", body: body}, &t)
	return t, err
}

// GetThread reads a thread with its values.
func (c *Client) GetThread(ctx context.Context, id string) (Thread, error) {
	var t Thread
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(id)}, &t)
	return t, err
}

// Search selects threads; zero fields select all. Pinned ones come first, then
// the newest update, unless SortBy says otherwise.
type Search struct {
	Status   thread.Status
	Metadata map[string]any // pairs that must be equal
	IDs      []string
	Limit    int // 100 when zero
	Offset   int
	SortBy   string // thread_id, status, created_at, updated_at
	Asc      bool
}

// SearchThreads lists threads and counts all that match.
func (c *Client) SearchThreads(ctx context.Context, s Search) ([]Thread, int, error) {
	body := map[string]any{"offset": s.Offset}
	set := func(key string, value any, given bool) {
		if given {
			body[key] = value
		}
	}
	set("status", s.Status, s.Status != "")
	set("metadata", s.Metadata, len(s.Metadata) > 0)
	set("ids", s.IDs, len(s.IDs) > 0)
	set("limit", s.Limit, s.Limit > 0)
	set("sort_by", s.SortBy, s.SortBy != "")
	set("sort_order", "asc", s.Asc)
	var list []Thread
	header, err := c.do(ctx, request{method: http.MethodPost, path: "/threads/search", body: body}, &list)
	if err != nil {
		return nil, 0, err
	}
	total, err := strconv.Atoi(header.Get("X-Pagination-Total"))
	if err != nil {
		total = s.Offset + len(list)
	}
	return list, total, nil
}

// DeleteThread deletes a thread that has no active run.
func (c *Client) DeleteThread(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: threadPath(id)}, nil)
	return err
}

// State reads the head of a thread.
func (c *Client) State(ctx context.Context, threadID string) (State, error) {
	var s State
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/state"}, &s)
	return s, err
}

// RawThread reads a thread with its values as the server sends it, with what this
// client does not know as well.
func (c *Client) RawThread(ctx context.Context, id string) (json.RawMessage, error) {
	var raw json.RawMessage
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(id)}, &raw)
	return raw, err
}

// RawRuns lists the newest runs of a thread as the server sends them.
func (c *Client) RawRuns(ctx context.Context, threadID string) (json.RawMessage, error) {
	var raw json.RawMessage
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/runs"}, &raw)
	return raw, err
}

func threadPath(id string) string { return "/threads/" + url.PathEscape(id) }
