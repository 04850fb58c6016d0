package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

const maxSearchLimit = 1000

// threadSearch is what a search request asks for.
type threadSearch struct {
	query  store.ThreadQuery
	fields []string // of each thread; empty means all
}

func parseSearch(body object, user string, d dialect) threadSearch {
	q := threadSearch{
		query: store.ThreadQuery{
			User:     user,
			IDs:      body.texts("ids"),
			Metadata: searchMetadata(body),
			Limit:    body.number("limit", d.searchLimit(), 1, maxSearchLimit),
			Offset:   body.number("offset", 0, 0, 1<<31-1),
			SortBy:   body.oneOf("sort_by", "", "thread_id", "status", "created_at", "updated_at", "state_updated_at"),
			Desc:     body.oneOf("sort_order", "desc", "asc") == "desc",
		},
		fields: body.texts("select"),
	}
	q.query.PinnedFirst = d == deerflow && q.query.SortBy == ""
	if q.query.SortBy == "" && !q.query.Desc {
		q.query.SortBy = "updated_at" // the store's default order knows no direction
	}
	q.query.Status = thread.Status(body.oneOf("status", "", string(thread.StatusIdle), string(thread.StatusBusy),
		string(thread.StatusInterrupted), string(thread.StatusError)))
	body.unsupported("values", "extract")
	return q
}

var metadataKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// searchMetadata reads the pairs that must all be equal.
func searchMetadata(body object) map[string]any {
	child := body.child("metadata")
	pairs := make(map[string]any, len(child.raw))
	for key, raw := range child.raw {
		var value any
		switch err := json.Unmarshal(raw, &value); {
		case !metadataKey.MatchString(key):
			child.fault(key, "value_error", "A metadata key has letters, digits, '_' and '-' only")
		case err != nil || isCompound(value):
			child.fault(key, "value_error", "Only text, numbers, true, false and null can be searched for")
		default:
			pairs[key] = value
		}
	}
	return pairs
}

func isCompound(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func (s *Server) searchThreads(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	d := dialectOf(c)
	search := parseSearch(body, ownerOf(c), d)
	if err := body.err(); err != nil {
		return err
	}
	threads, total, err := s.o.Store.SearchThreads(c.Request().Context(), search.query)
	if err != nil {
		return storeError(err, fail(http.StatusNotFound, "No threads"))
	}
	list := make([]any, 0, len(threads))
	for i := range threads {
		values, err := s.listedValues(c, &threads[i], d, search.fields)
		if err != nil {
			return err
		}
		shape, err := selectKeys(toThreadShape(&threads[i], values), search.fields)
		if err != nil {
			return err
		}
		list = append(list, shape)
	}
	h := c.Response().Header()
	h.Set("X-Pagination-Total", strconv.Itoa(total))
	if next := search.query.Offset + len(threads); next < total && len(threads) > 0 {
		h.Set("X-Pagination-Next", strconv.Itoa(next))
	}
	return c.JSON(http.StatusOK, list)
}

// listedValues are the values of a thread in a list: in DeerFlow's shape the
// title, which a sidebar shows, in the platform's all of them, unless the
// caller does not want any.
func (s *Server) listedValues(c echo.Context, t *store.Thread, d dialect, fields []string) (channels, error) {
	if len(fields) > 0 && !slices.Contains(fields, "values") {
		return channels{}, nil
	}
	if d == platform {
		view, err := s.o.Store.View(c.Request().Context(), t.ID, store.ViewOptions{})
		if err != nil {
			return channels{}, storeError(err, threadNotFound(t.ID))
		}
		return valuesOf(&view)
	}
	values := channels{}
	if t.State.Title == "" {
		return values, nil
	}
	title, err := json.Marshal(t.State.Title)
	values["title"] = title
	return values, err
}
