package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
)

const (
	defaultHistory = 10
	maxHistory     = 1000
	maxHistoryDF   = 100
)

// historyQuery is what a history request asks for.
type historyQuery struct {
	limit  int
	before string
	fields []string
}

func parseHistory(c echo.Context) (historyQuery, error) {
	body, err := readObject(c)
	if err != nil {
		return historyQuery{}, err
	}
	if c.Request().Method == http.MethodGet {
		body.loc, body.raw = []any{"query"}, map[string]json.RawMessage{}
		for _, key := range []string{"limit", "before"} {
			if value := c.QueryParam(key); value != "" {
				body.raw[key] = queryJSON(key, value)
			}
		}
	}
	most := maxHistory
	if dialectOf(c) == deerflow {
		most = maxHistoryDF
	}
	q := historyQuery{
		limit: body.number("limit", defaultHistory, 1, most), before: checkpointID(body, "before"),
		fields: body.texts("select"),
	}
	body.unsupported("metadata")
	return q, body.err()
}

// queryJSON brings a query value into JSON: a number as it is, an object as it
// is, anything else as text.
func queryJSON(key, value string) json.RawMessage {
	if _, err := strconv.Atoi(value); err == nil && key == "limit" {
		return json.RawMessage(value)
	}
	if value[0] == '{' && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // a string always encodes
	return text
}

// checkpointID reads a checkpoint that is named by its id, by a checkpoint
// object or by a config with one.
func checkpointID(body object, key string) string {
	raw := body.get(key)
	if raw == nil || raw[0] != '{' {
		return body.text(key)
	}
	var named struct {
		ID           string `json:"checkpoint_id"`
		Configurable struct {
			ID string `json:"checkpoint_id"`
		} `json:"configurable"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		body.fault(key, "value_error", "Input should be a checkpoint id or a checkpoint")
	}
	if named.ID == "" {
		return named.Configurable.ID
	}
	return named.ID
}

func (s *Server) getHistory(c echo.Context) error {
	q, err := parseHistory(c)
	if err != nil {
		return err
	}
	list := []any{}
	view, err := s.ownView(c)
	var missing *apiError
	if errors.As(err, &missing) && missing.status == http.StatusNotFound {
		return c.JSON(http.StatusOK, list)
	}
	if err != nil {
		return err
	}
	d := dialectOf(c)
	checkpoints, err := s.checkpoints(c.Request().Context(), &view, q, d)
	if err != nil {
		return err
	}
	for i := range checkpoints {
		entry, err := s.historyEntry(c.Request().Context(), &view, &checkpoints[i], d)
		if err != nil {
			return err
		}
		shown, err := selectKeys(entry, q.fields)
		if err != nil {
			return err
		}
		list = append(list, shown)
	}
	return c.JSON(http.StatusOK, list)
}

// checkpoints lists the checkpoints of a page. DeerFlow's before is the first
// entry of the page, the platform's the one above it.
func (s *Server) checkpoints(ctx context.Context, view *store.View, q historyQuery, d dialect) ([]store.Checkpoint, error) {
	var page []store.Checkpoint
	limit := q.limit
	if q.before != "" && d == deerflow {
		first, err := s.o.Store.GetCheckpoint(ctx, view.Thread.ID, q.before)
		if err != nil {
			return nil, storeError(err, checkpointNotFound(q.before))
		}
		page = append(page, first)
		limit--
	}
	if limit == 0 {
		return page, nil
	}
	rest, err := s.o.Store.Checkpoints(ctx, view.Thread.ID, store.CheckpointQuery{Before: q.before, Limit: limit})
	if err != nil {
		return nil, storeError(err, checkpointNotFound(q.before))
	}
	return append(page, rest...), nil
}

// historyEntry is one entry of the history. In DeerFlow's shape it names no
// checkpoint object, or its page would send that back and fork the thread, and
// only the newest entry carries the messages.
func (s *Server) historyEntry(ctx context.Context, view *store.View, cp *store.Checkpoint, d dialect) (any, error) {
	shape, err := s.checkpointState(ctx, view, cp, d)
	if err != nil || d == platform {
		return shape, err
	}
	shape.Metadata = map[string]any{"step": cp.Step}
	return shape.flatState, nil
}

func (s *Server) checkpointState(ctx context.Context, view *store.View, cp *store.Checkpoint, d dialect) (stateShape, error) {
	if view.Checkpoint != nil && cp.ID == view.Checkpoint.ID {
		return headState(view)
	}
	if d == deerflow {
		values, err := stateChannels(&cp.State)
		return stateAt(cp, values), err
	}
	then, err := s.o.Store.View(ctx, cp.ThreadID, store.ViewOptions{AtSeq: cp.Seq})
	if err != nil {
		return stateShape{}, storeError(err, threadNotFound(cp.ThreadID))
	}
	values, err := valuesOf(&then)
	return stateAt(cp, values), err
}
