package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// defaultLimit is how many rows a list has when nobody says.
const defaultLimit = 100

// SearchThreads lists threads, and counts all that match. Without SortBy the
// newest update comes first; equal times are ordered by id.
func (s *Store) SearchThreads(ctx context.Context, q ThreadQuery) ([]Thread, int, error) {
	where, args, err := q.conditions(s.db.dialect())
	if err != nil {
		return nil, 0, wrap(err, "search threads")
	}
	order, err := q.order()
	if err != nil {
		return nil, 0, wrap(err, "search threads")
	}
	var list []Thread
	var total int
	err = s.snapshot(ctx, func(ctx context.Context, c querier) error {
		rows, err := c.once(ctx, `SELECT COUNT(*) FROM threads`+where, args...)
		if err != nil {
			return err
		}
		if err := single(rows, &total); err != nil {
			return err
		}
		limited := append(slices.Clone(args), limitOr(q.Limit, defaultLimit), max(q.Offset, 0))
		rows, err = c.once(ctx, `SELECT `+threadColumns+` FROM threads`+where+order+` LIMIT ? OFFSET ?`, limited...)
		if err != nil {
			return err
		}
		list, err = collect(rows, scanThread)
		return err
	})
	if err != nil {
		return nil, 0, wrap(err, "search threads")
	}
	return list, total, nil
}

func limitOr(limit, otherwise int) int {
	if limit <= 0 {
		return otherwise
	}
	return limit
}

func (q *ThreadQuery) order() (string, error) {
	column, direction := "updated_at", "DESC"
	if q.SortBy != "" {
		switch q.SortBy {
		case "thread_id":
			column = "id"
		case "status", "created_at", "updated_at", "state_updated_at":
			column = q.SortBy
		default:
			return "", fmt.Errorf("sort by %q: must be thread_id, status, created_at, updated_at or state_updated_at: %w", q.SortBy, ErrInvalid)
		}
		if !q.Desc {
			direction = "ASC"
		}
	}
	order := column + " " + direction
	if column != "id" {
		order += ", id " + direction
	}
	if q.PinnedFirst {
		order = "pinned DESC, " + order
	}
	return " ORDER BY " + order, nil
}

func (q *ThreadQuery) conditions(d dialect) (where string, args []any, err error) {
	var terms []string
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	if q.User != "" {
		add("user_id = ?", q.User)
	}
	if q.Status != "" {
		add("status = ?", string(q.Status))
	}
	if len(q.IDs) > 0 {
		ids := make([]any, len(q.IDs))
		for i, id := range q.IDs {
			ids[i] = clean(id)
		}
		add("id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", ids...)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Metadata)) {
		term, values, err := metadataTerm(d, key, q.Metadata[key])
		if err != nil {
			return "", nil, err
		}
		add(term, values...)
	}
	if len(terms) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args, nil
}

// metadataTerm is the condition that a key of the metadata equals a scalar.
// Numbers are equal by value, so 1 finds 1.0.
func metadataTerm(d dialect, key string, value any) (term string, args []any, err error) {
	value, err = scalar(key, value)
	if err != nil {
		return "", nil, err
	}
	if d == dialectPostgres {
		data, err := encode(value)
		if err != nil {
			return "", nil, err
		}
		return "metadata::jsonb -> ?::text = ?::text::jsonb", []any{key, string(data)}, nil
	}
	const each = "EXISTS (SELECT 1 FROM json_each(threads.metadata) AS j WHERE j.key = ? AND "
	switch v := value.(type) {
	case nil:
		return each + "j.type = 'null')", []any{key}, nil
	case bool:
		return each + "j.type = ?)", []any{key, strconv.FormatBool(v)}, nil
	case string:
		return each + "j.type = 'text' AND j.value = ?)", []any{key, v}, nil
	default:
		return each + "j.type IN ('integer', 'real') AND j.value = ?)", []any{key, v}, nil
	}
}

// scalar brings a value to nil, bool, string, int64 or float64.
func scalar(key string, value any) (any, error) {
	if err := checkText(key); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil, bool, int64:
		return v, nil
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), checkText(v)
	case int:
		return int64(v), nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("metadata %q: number %.40s is out of range: %w", key, v, ErrInvalid)
		}
		return f, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("metadata %q: %v is no number: %w", key, v, ErrInvalid)
		}
		return v, nil
	}
	return nil, fmt.Errorf("metadata %q: only text, numbers, true, false and null can be searched for, not %T: %w", key, value, ErrInvalid)
}
