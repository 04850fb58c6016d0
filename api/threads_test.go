package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

func TestCreateThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, s := range []scenario{
		{
			name: "new with an id of the caller", method: "POST", path: "/threads", status: 200,
			body: `{"thread_id":"t-1","metadata":{"a":1,"user_id":"evil","owner_id":"evil"}}`,
			want: []string{`"thread_id":"t-1"`, `"status":"idle"`, `"metadata":{"a":1}`, `"values":{}`, `"interrupts":{}`}, wantNot: []string{"evil"},
		},
		{name: "again on the platform", method: "POST", path: "/threads", body: `{"thread_id":"t-1"}`, status: 409, want: []string{"already exists"}},
		{name: "again, do nothing", method: "POST", path: "/threads", body: `{"thread_id":"t-1","if_exists":"do_nothing"}`, status: 200},
		{name: "again in DeerFlow's dialect", method: "POST", path: "/api/threads", body: `{"thread_id":"t-1"}`, status: 200},
		{name: "again below langgraph", method: "POST", path: "/api/langgraph/threads", body: `{"thread_id":"t-1"}`, status: 200},
		{name: "no body", method: "POST", path: "/threads", status: 200, want: []string{`"thread_id":"`}},
		{name: "slash in the id", method: "POST", path: "/threads", body: `{"thread_id":"a/b"}`, status: 422, want: []string{`["body","thread_id"]`}},
		{name: "id too long", method: "POST", path: "/threads", body: `{"thread_id":"` + strings.Repeat("x", 65) + `"}`, status: 422},
		{name: "metadata is a list", method: "POST", path: "/threads", body: `{"metadata":[]}`, status: 422, want: []string{`["body","metadata"]`}},
		{name: "a ttl", method: "POST", path: "/threads", body: `{"ttl":{"ttl":5,"strategy":"delete"}}`, status: 200},
		{name: "SDK defaults", method: "POST", path: "/threads", body: `{"ttl":null,"supersteps":null,"metadata":null}`, status: 200},
		{name: "broken JSON", method: "POST", path: "/threads", body: `{`, status: 422, want: []string{"json_invalid"}},
		{name: "no object", method: "POST", path: "/threads", body: `[]`, status: 422, want: []string{"dict_type"}},
	} {
		t.Run(s.name, func(t *testing.T) { e.check(t, s) })
	}
}

func TestThreadOfAnotherUser(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, err := e.store.CreateThread(e.ctx, store.NewThread{ID: "theirs", User: "someone", Metadata: json.RawMessage(`{"x":"secret"}`)}, store.IfExistsRaise)
	require.NoError(t, err)
	for _, s := range []scenario{
		{method: "GET", path: "/threads/theirs", status: 404},
		{method: "PATCH", path: "/threads/theirs", body: `{"metadata":{"a":1}}`, status: 404},
		{method: "DELETE", path: "/threads/theirs", status: 404},
		{method: "GET", path: "/threads/theirs/state", status: 404},
		{method: "POST", path: "/threads/theirs/history", status: 404},
		{method: "GET", path: "/threads/theirs/runs", status: 404},
		{method: "GET", path: "/threads/theirs/runs/r", status: 404},
		{method: "POST", path: "/threads/theirs/runs", body: `{"input":{"messages":["hi"]}}`, status: 404},
		{method: "POST", path: "/threads/theirs/runs", body: `{"input":{"messages":["hi"]},"if_not_exists":"create"}`, status: 404},
		{method: "POST", path: "/threads", body: `{"thread_id":"theirs","if_exists":"do_nothing"}`, status: 404},
		{method: "POST", path: "/threads/search", status: 200, want: []string{"[]"}},
	} {
		s.wantNot = []string{"secret", "someone"}
		t.Run(s.method+s.path, func(t *testing.T) { e.check(t, s) })
	}
	require.Empty(t, e.threads.submissions())
}

func TestGetAndPatchThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	before, err := e.store.GetThread(e.ctx, "t")
	require.NoError(t, err)
	e.check(t, scenario{method: "GET", path: "/threads/nope", status: 404, want: []string{`{"detail":"Thread nope not found"}`}})
	e.check(t, scenario{method: "GET", path: "/threads/" + strings.Repeat("x", 65), status: 422})
	e.check(t, scenario{method: "PATCH", path: "/threads/t", body: `{"metadata":{"deerflow_pinned":true}}`, status: 200, want: []string{`"deerflow_pinned":true`}})
	pinned, err := e.store.GetThread(e.ctx, "t")
	require.NoError(t, err)
	require.Equal(t, before.UpdatedAt, pinned.UpdatedAt, "pinning is no update")
	e.check(t, scenario{
		method: "PATCH", path: "/threads/t", body: `{"metadata":{"a":"b","user_id":"x"}}`, status: 200,
		want: []string{`"deerflow_pinned":true`, `"a":"b"`}, wantNot: []string{"user_id"},
	})
	e.check(t, scenario{method: "PATCH", path: "/threads/t", body: `{"metadata":{}}`, status: 204, header: map[string]string{"Prefer": "return=minimal"}})
	e.check(t, scenario{method: "PATCH", path: "/threads/t", body: `{"metadata":3}`, status: 422})
}

func TestDeleteThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	dir := filepath.Join(e.dataDir, "users", "default", "threads", "t")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "user-data", "outputs"), 0o700))

	run := e.say(t, "t", "hi")
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 409, want: []string{"run in flight", run}})
	e.play(t, "t").turn(run, "ok")
	e.threads.stop = threadclient.ErrUnavailable
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 503, want: []string{"Temporal"}})
	require.DirExists(t, dir)
	e.threads.stop = nil
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 204})
	require.NoDirExists(t, dir)
	require.Equal(t, []string{"t"}, e.threads.stopped)
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 404})

	e.thread(t, "u")
	e.check(t, scenario{method: "DELETE", path: "/api/threads/u", status: 200, want: []string{`"success":true`}})
}

func TestSearchThreads(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, id := range []string{"a", "b", "c"} {
		_, err := e.store.CreateThread(e.ctx, store.NewThread{ID: id, User: defaultUser, Metadata: json.RawMessage(`{"name":"` + id + `","n":1}`)}, "")
		require.NoError(t, err)
	}
	e.play(t, "b").story(e.say(t, "b", "hello"))
	_, err := e.store.PatchThread(e.ctx, "a", map[string]any{"deerflow_pinned": true})
	require.NoError(t, err)

	ids := func(api *testkit.API, query map[string]any) []string {
		list, err := api.SearchThreads(e.ctx, query)
		require.NoError(t, err)
		found := []string{}
		for _, thread := range list {
			found = append(found, thread.ThreadID)
		}
		return found
	}
	require.Equal(t, []string{"b", "c", "a"}, ids(e.root, nil), "newest update first")
	require.Equal(t, []string{"a", "b", "c"}, ids(e.df, nil), "pinned first")
	require.Equal(t, []string{"c"}, ids(e.root, map[string]any{"limit": 1, "offset": 1}))
	require.Equal(t, []string{"c"}, ids(e.root, map[string]any{"metadata": map[string]any{"name": "c", "n": 1}}))
	require.Empty(t, ids(e.root, map[string]any{"metadata": map[string]any{"name": "d"}}))
	require.Equal(t, []string{"a", "c", "b"}, ids(e.root, map[string]any{"sort_by": "updated_at", "sort_order": "asc"}))
	require.Equal(t, []string{"a", "c", "b"}, ids(e.root, map[string]any{"sort_order": "asc"}))
	require.Equal(t, []string{"c", "a"}, ids(e.root, map[string]any{"ids": []string{"a", "c"}}))
	require.Empty(t, ids(e.root, map[string]any{"status": "busy"}))

	for _, s := range []scenario{
		{name: "page headers", path: "/threads/search", body: `{"limit":2}`, status: 200, headers: map[string]string{"X-Pagination-Total": "3", "X-Pagination-Next": "2"}},
		{name: "last page", path: "/threads/search", body: `{"limit":2,"offset":2}`, status: 200, headers: map[string]string{"X-Pagination-Next": ""}},
		{name: "all values on the platform", path: "/threads/search", body: `{"ids":["b"]}`, status: 200, want: []string{`"title":"Files"`, `"messages":[{`}},
		{name: "title for a sidebar", path: "/api/threads/search", body: `{"ids":["b"]}`, status: 200, want: []string{`"values":{"title":"Files"}`}},
		{name: "selected", path: "/threads/search", body: `{"ids":["b"],"select":["thread_id","status"]}`, status: 200, want: []string{`[{"status":"idle","thread_id":"b"}]`}},
		{name: "limit 0", path: "/threads/search", body: `{"limit":0}`, status: 422, want: []string{`["body","limit"]`}},
		{name: "limit 1001", path: "/api/threads/search", body: `{"limit":1001}`, status: 422},
		{name: "bad status", path: "/threads/search", body: `{"status":"sleepy"}`, status: 422, want: []string{"sleepy"}},
		{name: "bad sort", path: "/threads/search", body: `{"sort_by":"colour"}`, status: 422, want: []string{"sort_by"}},
		{name: "bad key", path: "/threads/search", body: `{"metadata":{"a b":1}}`, status: 422, want: []string{"a b"}},
		{name: "deep value", path: "/threads/search", body: `{"metadata":{"a":{"b":1}}}`, status: 422},
		{name: "values filter", path: "/threads/search", body: `{"values":{"title":"x"}}`, status: 422, want: []string{"values is not supported"}},
	} {
		s.method = "POST"
		t.Run(s.name, func(t *testing.T) { e.check(t, s) })
	}
}

// timeKeys are the keys of answers that hold times.
var timeKeys = regexp.MustCompile(`"(?:[a-z_]*_at|ts|modified|timestamp)":"([^"]*)"`)

func TestE16TimesHaveOffsets(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "hi")
	p.story(run)
	require.NoError(t, os.MkdirAll(filepath.Join(e.dataDir, "users/default/threads/t/user-data/uploads"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(e.dataDir, "users/default/threads/t/user-data/uploads/a"), nil, 0o600))
	for path, method := range map[string]string{
		"/threads/t": "GET", "/threads/t/state": "GET", "/threads/t/history": "POST", "/threads/t/runs": "GET",
		"/threads/t/runs/" + run: "GET", "/threads/search": "POST", "/api/threads/search": "POST", "/threads/t/uploads/list": "GET",
	} {
		status, _, body := e.do(t, method, path, "", nil)
		require.Equal(t, http.StatusOK, status, body)
		found := timeKeys.FindAllStringSubmatch(body, -1)
		require.NotEmpty(t, found, path)
		for _, match := range found {
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`, match[1], path)
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.check(t, scenario{method: "GET", path: "/threads/nope/state", status: 404})
	e.thread(t, "t")
	e.check(t, scenario{
		name: "fresh", method: "GET", path: "/threads/t/state", status: 200,
		want: []string{`"values":{}`, `"next":[]`, `"tasks":[]`, `"checkpoint":{"thread_id":"t"`, `"checkpoint_id":null`},
	})

	p := e.play(t, "t")
	run := e.say(t, "t", "first question")
	state, err := e.root.State(e.ctx, "t")
	require.NoError(t, err)
	messages, err := state.Values.Messages()
	require.NoError(t, err)
	require.Len(t, messages, 1, "the question is there before the run is")
	p.story(run)
	state, err = e.root.State(e.ctx, "t")
	require.NoError(t, err)
	require.Equal(t, "Files", state.Values.Title())
	require.Empty(t, state.Next)
	require.Empty(t, state.Tasks)
	require.Equal(t, p.parent, state.CheckpointID)
	_, _, body := e.do(t, "GET", "/threads/t/state", "", nil)
	require.NotContains(t, body, "of the workflow", "the workflow's own state stays inside")
	e.check(t, scenario{method: "GET", path: "/threads/t/state?select=next&select=checkpoint_id", status: 200, want: []string{`"next":[]`}, wantNot: []string{"messages"}})
}

func TestE06HistoryHoldsTheSecondQuestion(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "first answer")
	second := e.say(t, "t", "two")
	for _, when := range []string{"pending", "running"} {
		history, err := e.df.History(e.ctx, "t", 1)
		require.NoError(t, err)
		require.Len(t, history, 1)
		messages, err := history[0].Values.Messages()
		require.NoError(t, err)
		require.Len(t, messages, 3, when)
		require.Equal(t, "two", messages[2].Text(), when)
		if when == "pending" {
			p.start(second)
			p.stream(store.Delta{Text: "sec"})
		}
	}
	s, err := e.df.JoinStream(e.ctx, "t", second, "-1")
	require.NoError(t, err)
	defer s.Close()
	frames, err := s.Until(e.ctx, testkit.IsEvent("messages"))
	require.NoError(t, err)
	values := testkit.Values{}
	require.NoError(t, frames[1].Decode(&values))
	merged, err := values.Messages()
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, m := range merged {
		require.False(t, ids[m.ID], "doubled %s", m.ID)
		ids[m.ID] = true
	}
	require.Len(t, ids, 3)
	require.Contains(t, frames[2].Data, `"run_id":"`+second+`"`)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	first := p.parent
	p.turn(e.say(t, "t", "two"), "2")

	history, err := e.root.History(e.ctx, "t", 2)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Equal(t, p.parent, history[0].CheckpointID)
	require.Equal(t, first, history[1].CheckpointID)
	old, err := history[1].Values.Messages()
	require.NoError(t, err)
	require.Len(t, old, 2, "an old entry has the messages of its time")

	for _, s := range []scenario{
		{
			name: "platform", path: "/threads/t/history", body: `{"limit":1}`, status: 200,
			want: []string{`"checkpoint":{"thread_id":"t","checkpoint_ns":"","checkpoint_id":"` + p.parent, `"parent_checkpoint":{"thread_id":"t","checkpoint_ns":"","checkpoint_id":"` + first},
		},
		{
			name: "DeerFlow", path: "/api/threads/t/history", body: `{"limit":2}`, status: 200,
			want:    []string{`"checkpoint_id":"` + p.parent, `"parent_checkpoint_id":"` + first, `"metadata":{"step":`},
			wantNot: []string{`"checkpoint":`, `"parent_checkpoint":`, `"content":"one"},{"content":"1"}]`},
		},
		{name: "before, platform", path: "/threads/t/history", body: `{"before":"` + p.parent + `"}`, status: 200, want: []string{first}, wantNot: []string{`"content":"two"`}},
		{name: "before as config", path: "/threads/t/history", body: `{"before":{"configurable":{"checkpoint_id":"` + p.parent + `"}}}`, status: 200, wantNot: []string{`"content":"two"`}},
		{name: "before, DeerFlow", path: "/api/threads/t/history", body: `{"limit":1,"before":"` + first + `"}`, status: 200, want: []string{`"checkpoint_id":"` + first}},
		{name: "before what", path: "/threads/t/history", body: `{"before":"nope"}`, status: 404, want: []string{"Checkpoint nope not found"}},
		{name: "limit", path: "/api/threads/t/history", body: `{"limit":101}`, status: 422},
		{name: "no thread", path: "/threads/none/history", body: `{}`, status: 200, want: []string{"[]"}},
		{name: "bad thread", path: "/threads/a.b/history", body: `{}`, status: 422},
	} {
		s.method = "POST"
		t.Run(s.name, func(t *testing.T) { e.check(t, s) })
	}
	e.check(t, scenario{method: "GET", path: "/threads/t/history?limit=1", status: 200, want: []string{p.parent}, wantNot: []string{`"checkpoint_id":"` + first + `","id":"` + first + `","ts"`}})
	e.check(t, scenario{method: "GET", path: "/threads/t/history?limit=x", status: 422, want: []string{`["query","limit"]`}})
}

func TestInterruptedThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.start(e.say(t, "t", "hm"))
	p.ask(question("call_1"), question("call_2"))
	got, err := e.root.Thread(e.ctx, "t")
	require.NoError(t, err)
	require.Equal(t, "interrupted", got.Status)
	require.Len(t, got.Interrupts, 1, "one task")
	state, err := e.root.State(e.ctx, "t")
	require.NoError(t, err)
	require.Equal(t, []string{"tools"}, state.Next)
	require.Len(t, state.Tasks, 1)
	require.Len(t, state.Tasks[0].Interrupts, 2)
	require.Contains(t, got.Interrupts, state.Tasks[0].ID)
	require.Equal(t, "clarification:call_1", state.Tasks[0].Interrupts[0].ID)

	next := e.say(t, "t", "2026")
	p.start(next, "clarification:call_1", "clarification:call_2")
	state, err = e.root.State(e.ctx, "t")
	require.NoError(t, err)
	for _, task := range state.Tasks {
		require.Empty(t, task.Interrupts, "answered, though the checkpoint is older")
	}
}

func TestFailedRunInState(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.start(e.say(t, "t", "hm"))
	p.commit(p.ending(thread.End{Status: thread.RunError, Error: "it broke"}))
	e.check(t, scenario{method: "GET", path: "/threads/t/state", status: 200, want: []string{`"error":"it broke"`, `"next":[]`}})
	e.check(t, scenario{method: "GET", path: "/threads/t", status: 200, want: []string{`"status":"error"`, `"error":"it broke"`}})

	q := e.play(t, "u")
	q.start(e.say(t, "u", "hm"))
	fallback := aiMessage("The model is busy.")
	fallback.SetKwarg(thread.KeyErrorFallback, true)
	q.finish(q.stream(), fallback)
	q.commit(q.ending(thread.End{Status: thread.RunError, Error: "the model failed"}))
	e.check(t, scenario{method: "GET", path: "/threads/u/state", status: 200, want: []string{`"tasks":[]`, "The model is busy."}})
}

func TestStoreErrorMapping(t *testing.T) {
	t.Parallel()
	require.NoError(t, storeError(nil, threadNotFound("t")))
	var known *apiError
	require.ErrorAs(t, storeError(store.ErrThreadGone, threadNotFound("t")), &known)
	require.Equal(t, http.StatusNotFound, known.status)
	require.ErrorAs(t, storeError(store.ErrClosed, threadNotFound("t")), &known)
	require.Equal(t, http.StatusServiceUnavailable, known.status)
	other := errors.New("disk")
	require.Equal(t, other, storeError(other, threadNotFound("t")))
}
