package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestCreateThread(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		made, err := f.CreateThread(f.ctx, NewThread{ID: "t1", User: "ann", Metadata: json.RawMessage(` {"a": 1.50, "b": "\ud83e\udd8c <x>"} `)}, IfExistsRaise)
		require.NoError(f.t, err)
		require.JSONEq(f.t, `{"a": 1.50, "b": "🦌 <x>"}`, string(made.Metadata))
		require.Equal(f.t, thread.StatusIdle, made.Status)
		require.False(f.t, made.CreatedAt.IsZero())
		got, err := f.GetThread(f.ctx, "t1")
		require.NoError(f.t, err)
		require.Equal(f.t, made, got)

		_, err = f.CreateThread(f.ctx, NewThread{ID: "t1", User: "ann"}, IfExistsRaise)
		require.ErrorIs(f.t, err, ErrExists)
		again, err := f.CreateThread(f.ctx, NewThread{ID: "t1", User: "ann", Metadata: json.RawMessage(`{"other":1}`)}, IfExistsNothing)
		require.NoError(f.t, err)
		require.Equal(f.t, made, again)
		for _, exists := range []string{IfExistsNothing, IfExistsRaise} {
			_, err = f.CreateThread(f.ctx, NewThread{ID: "t1", User: "bob"}, exists)
			require.ErrorIs(f.t, err, ErrNotFound, "another user's thread is not shown")
			require.NotErrorIs(f.t, err, ErrExists)
		}

		for _, bad := range []string{`[]`, `"x"`, `{`, `{} {}`, `{"a":"\u0000"}`, `{"\u0000":1}`, `{"a":1e999}`, strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100)} {
			_, err := f.CreateThread(f.ctx, NewThread{ID: "t2", User: "ann", Metadata: json.RawMessage(bad)}, IfExistsRaise)
			require.ErrorIs(f.t, err, ErrInvalid, bad)
		}
		_, err = f.GetThread(f.ctx, "t2")
		require.ErrorIs(f.t, err, ErrNotFound)
		made, err = f.CreateThread(f.ctx, NewThread{ID: "t2", User: "ann", Metadata: json.RawMessage("null")}, IfExistsRaise)
		require.NoError(f.t, err)
		require.Equal(f.t, `{}`, string(made.Metadata))
	})
}

func TestPatchThread(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		made, err := f.CreateThread(f.ctx, NewThread{ID: "t1", User: "ann", Metadata: json.RawMessage(`{"a":1,"b":{"x":1},"big":12345678901234567890}`)}, IfExistsRaise)
		require.NoError(f.t, err)
		got, err := f.PatchThread(f.ctx, "t1", map[string]any{"b": map[string]any{"y": 2}, "c": nil})
		require.NoError(f.t, err)
		require.JSONEq(f.t, `{"a":1,"b":{"y":2},"c":null,"big":12345678901234567890}`, string(got.Metadata))
		require.Contains(f.t, string(got.Metadata), "12345678901234567890", "numbers keep their digits")
		require.True(f.t, got.UpdatedAt.After(made.UpdatedAt))

		pinned, err := f.PatchThread(f.ctx, "t1", map[string]any{"deerflow_pinned": true})
		require.NoError(f.t, err)
		require.Equal(f.t, got.UpdatedAt, pinned.UpdatedAt, "a pin is no update")
		same, err := f.PatchThread(f.ctx, "t1", nil)
		require.NoError(f.t, err)
		require.Equal(f.t, pinned, same)

		_, err = f.PatchThread(f.ctx, "none", map[string]any{"a": 1})
		require.ErrorIs(f.t, err, ErrNotFound)
		_, err = f.PatchThread(f.ctx, "t1", map[string]any{"a": func() {}})
		require.ErrorIs(f.t, err, ErrInvalid)
	})
}

func TestSearchMetadata(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for id, metadata := range map[string]string{
			"text":   `{"k":"1","agent":"x"}`,
			"number": `{"k":1,"agent":"x"}`,
			"float":  `{"k":1.5}`,
			"true":   `{"k":true}`,
			"false":  `{"k":false}`,
			"null":   `{"k":null}`,
			"list":   `{"k":["1",1,true,null]}`,
			"object": `{"k":{"k":"1"}}`,
			"odd":    `{"k'; --":"a\"b'c","%":"_","":"empty"}`,
			"none":   `{}`,
		} {
			_, err := f.CreateThread(f.ctx, NewThread{ID: id, User: "ann", Metadata: json.RawMessage(metadata)}, IfExistsRaise)
			require.NoError(f.t, err)
		}
		for _, c := range []struct {
			query map[string]any
			want  []string
		}{
			{map[string]any{"k": "1"}, []string{"text"}},
			{map[string]any{"k": 1}, []string{"number"}},
			{map[string]any{"k": 1.0}, []string{"number"}},
			{map[string]any{"k": json.Number("1.0")}, []string{"number"}},
			{map[string]any{"k": json.Number("1")}, []string{"number"}},
			{map[string]any{"k": 1.5}, []string{"float"}},
			{map[string]any{"k": true}, []string{"true"}},
			{map[string]any{"k": false}, []string{"false"}},
			{map[string]any{"k": nil}, []string{"null"}},
			{map[string]any{"k": "true"}, nil},
			{map[string]any{"k": 0}, nil},
			{map[string]any{"agent": "x"}, []string{"number", "text"}},
			{map[string]any{"agent": "x", "k": "1"}, []string{"text"}},
			{map[string]any{"k'; --": `a"b'c`}, []string{"odd"}},
			{map[string]any{"%": "_"}, []string{"odd"}},
			{map[string]any{"_": "_"}, nil},
			{map[string]any{"": "empty"}, []string{"odd"}},
			{map[string]any{"missing": nil}, nil},
		} {
			found, total, err := f.SearchThreads(f.ctx, ThreadQuery{Metadata: c.query, SortBy: "thread_id"})
			require.NoError(f.t, err)
			require.Equal(f.t, c.want, threadIDs(found), "%v", c.query)
			require.Equal(f.t, len(c.want), total)
		}
		for _, bad := range []any{[]any{1}, map[string]any{}, "\x00", json.Number("1e999"), struct{}{}} {
			_, _, err := f.SearchThreads(f.ctx, ThreadQuery{Metadata: map[string]any{"k": bad}})
			require.ErrorIs(f.t, err, ErrInvalid, "%v", bad)
		}
	})
}

func threadIDs(list []Thread) []string {
	var ids []string
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestSearchThreads(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for i := range 5 {
			f.newThread(fmt.Sprintf("t%d", i))
		}
		_, err := f.CreateThread(f.ctx, NewThread{ID: "bobs", User: "bob"}, IfExistsRaise)
		require.NoError(f.t, err)
		_, err = f.PatchThread(f.ctx, "t1", map[string]any{"title": "changed"})
		require.NoError(f.t, err)
		_, err = f.PatchThread(f.ctx, "t2", map[string]any{"deerflow_pinned": true})
		require.NoError(f.t, err)
		f.commit(commitInput(ref("t3", "r", 1), 0, thread.StatusInterrupted))

		for _, c := range []struct {
			name  string
			query ThreadQuery
			want  []string
			total int
		}{
			{"newest first", ThreadQuery{User: "ann"}, []string{"t3", "t1", "t4", "t2", "t0"}, 5},
			{"pinned first", ThreadQuery{User: "ann", PinnedFirst: true}, []string{"t2", "t3", "t1", "t4", "t0"}, 5},
			{"page", ThreadQuery{User: "ann", Limit: 2, Offset: 1}, []string{"t1", "t4"}, 5},
			{"past the end", ThreadQuery{User: "ann", Offset: 9}, nil, 5},
			{"everybody's", ThreadQuery{Limit: 1, SortBy: "thread_id"}, []string{"bobs"}, 6},
			{"by id, down", ThreadQuery{User: "ann", SortBy: "thread_id", Desc: true, Limit: 2}, []string{"t4", "t3"}, 5},
			{"by creation", ThreadQuery{User: "ann", SortBy: "created_at", Limit: 2}, []string{"t0", "t1"}, 5},
			{"by status", ThreadQuery{User: "ann", SortBy: "status", Desc: true, Limit: 1}, []string{"t3"}, 5},
			{"by ids", ThreadQuery{IDs: []string{"t0", "t4", "none", "a\x00"}}, []string{"t4", "t0"}, 2},
			{"status", ThreadQuery{Status: thread.StatusInterrupted}, []string{"t3"}, 1},
			{"nobody's", ThreadQuery{User: "eve"}, nil, 0},
		} {
			found, total, err := f.SearchThreads(f.ctx, c.query)
			require.NoError(f.t, err)
			require.Equal(f.t, c.want, threadIDs(found), c.name)
			require.Equal(f.t, c.total, total, c.name)
		}
		_, _, err = f.SearchThreads(f.ctx, ThreadQuery{SortBy: "id; DROP TABLE threads"})
		require.ErrorIs(f.t, err, ErrInvalid)
	})
}

func TestPing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) { require.NoError(f.t, f.Ping(f.ctx)) })
}
