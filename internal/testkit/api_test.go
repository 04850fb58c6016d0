package testkit

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// seen is one request that a scripted API got.
type seen struct {
	request string // method, path and query
	header  http.Header
	body    string
}

// scriptedAPI answers each "METHOD path?query" with the bodies of its list, one
// after the other, the last one for ever.
type scriptedAPI struct {
	mu      sync.Mutex
	answers map[string][]string
	log     []seen
}

func (s *scriptedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Method + " " + r.URL.RequestURI()
	s.log = append(s.log, seen{key, r.Header, string(body)})
	list, ok := s.answers[key]
	if !ok {
		http.Error(w, `{"detail":"not found"}`, http.StatusNotFound)
		return
	}
	if len(list) > 1 {
		s.answers[key] = list[1:]
	}
	if list[0] == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_, _ = io.WriteString(w, list[0])
}

func (s *scriptedAPI) last() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[len(s.log)-1]
}

func scripted(t *testing.T, answers map[string][]string) (*API, *scriptedAPI) {
	t.Helper()
	s := &scriptedAPI{answers: answers}
	server := httptest.NewServer(s)
	api := NewAPI(server.URL + "/")
	t.Cleanup(func() {
		api.Close()
		server.Close()
	})
	return api, s
}

func TestAPIThreads(t *testing.T) {
	t.Parallel()
	api, server := scripted(t, map[string][]string{
		"POST /threads":               {`{"thread_id":"t1","status":"idle","metadata":{"a":1}}`},
		"GET /threads/t%2F1":          {`{"thread_id":"t/1","interrupts":{"k":[{"id":"i","value":"?"}]}}`},
		"DELETE /threads/t1":          {""},
		"POST /threads/search":        {`[{"thread_id":"a"},{"thread_id":"b"}]`},
		"POST /api/threads/t1/copies": {`{"thread_id":"t2"}`},
	})
	ctx := testContext(t)

	thread, err := api.CreateThread(ctx, "t1", map[string]any{"a": 1})
	require.NoError(t, err)
	require.Equal(t, "idle", thread.Status)
	require.JSONEq(t, `{"thread_id":"t1","metadata":{"a":1}}`, server.last().body)
	require.Equal(t, "application/json", server.last().header.Get("Content-Type"))
	_, err = api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, server.last().body)

	thread, err = api.Thread(ctx, "t/1")
	require.NoError(t, err)
	require.Equal(t, "i", thread.Interrupts["k"][0].ID)
	require.Empty(t, server.last().body)
	require.Empty(t, server.last().header.Get("Content-Type"))

	require.NoError(t, api.DeleteThread(ctx, "t1"))
	require.Equal(t, http.StatusNotFound, StatusOf(api.DeleteThread(ctx, "t2")))
	found, err := api.SearchThreads(ctx, map[string]any{"limit": 2})
	require.NoError(t, err)
	require.Len(t, found, 2)

	var copied Thread
	_, err = api.WithPrefix("/api").WithHeader("X-Api-Key", "k").Do(ctx, http.MethodPost, "/threads/t1/copies", []byte("raw"), &copied)
	require.NoError(t, err)
	require.Equal(t, "t2", copied.ThreadID)
	require.Equal(t, "raw", server.last().body)
	require.Equal(t, "k", server.last().header.Get("X-Api-Key"))
	require.Empty(t, api.header, "the first client is unchanged")
}

func TestAPIState(t *testing.T) {
	t.Parallel()
	const state = `{"values":{"title":"T","messages":[{"type":"human","content":"hi"}]},"next":["agent"],
		"tasks":[{"id":"k","name":"agent","interrupts":[{"id":"i","value":{"q":1}}]}],"checkpoint_id":"c1"}`
	api, server := scripted(t, map[string][]string{
		"GET /threads/t1/state":    {state},
		"POST /threads/t1/state":   {`{}`},
		"POST /threads/t1/history": {`[` + state + `]`},
	})
	ctx := testContext(t)

	head, err := api.State(ctx, "t1")
	require.NoError(t, err)
	require.Equal(t, "T", head.Values.Title())
	require.Equal(t, []string{"agent"}, head.Next)
	require.JSONEq(t, `{"q":1}`, string(head.Tasks[0].Interrupts[0].Value))
	require.NoError(t, api.UpdateState(ctx, "t1", map[string]any{"title": "N"}))
	require.JSONEq(t, `{"values":{"title":"N"}}`, server.last().body)
	states, err := api.History(ctx, "t1", 3)
	require.NoError(t, err)
	require.Equal(t, "c1", states[0].CheckpointID)
	require.JSONEq(t, `{"limit":3}`, server.last().body)
}

func TestAPIRuns(t *testing.T) {
	t.Parallel()
	api, server := scripted(t, map[string][]string{
		"POST /threads/t1/runs":           {`{"run_id":"r1","status":"pending"}`},
		"POST /threads/t1/runs/wait":      {"\n\n" + `{"title":"T"}`},
		"GET /threads/t1/runs?limit=1000": {`[{"run_id":"r1"}]`},
		"GET /threads/t1/runs/r1":         {`{"status":"pending"}`, `{"status":"running"}`, `{"status":"success","stop_reason":null}`},
		"GET /threads/t1/runs/r1/join":    {`{"title":"J"}`},
	})
	ctx := testContext(t)

	created, err := api.CreateRun(ctx, "t1", Say("hi"))
	require.NoError(t, err)
	require.Equal(t, "r1", created.RunID)
	require.False(t, created.Finished())
	require.JSONEq(t, `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"hi"}]}}`, server.last().body)

	run, err := api.AwaitRun(ctx, "t1", "r1", "running")
	require.NoError(t, err)
	require.Equal(t, "running", run.Status)
	run, err = api.AwaitRun(ctx, "t1", "r1")
	require.NoError(t, err)
	require.Equal(t, "success", run.Status)
	_, err = api.AwaitRun(ctx, "t1", "r1", "interrupted", "error")
	require.ErrorContains(t, err, "ended with status success, not interrupted or error")

	values, err := api.WaitRun(ctx, "t1", Resume("blue"))
	require.NoError(t, err)
	require.Equal(t, "T", values.Title())
	require.JSONEq(t, `{"assistant_id":"lead_agent","command":{"resume":"blue"}}`, server.last().body)
	values, err = api.JoinRun(ctx, "t1", "r1")
	require.NoError(t, err)
	require.Equal(t, "J", values.Title())
	runs, err := api.Runs(ctx, "t1")
	require.NoError(t, err)
	require.Len(t, runs, 1)
}

func TestAPICancelRun(t *testing.T) {
	t.Parallel()
	api, _ := scripted(t, map[string][]string{
		"POST /threads/t1/runs/r1/cancel?wait=0":                 {""},
		"POST /threads/t1/runs/r1/cancel?action=rollback&wait=1": {""},
	})
	ctx := testContext(t)
	require.NoError(t, api.CancelRun(ctx, "t1", "r1", CancelOptions{}))
	require.NoError(t, api.CancelRun(ctx, "t1", "r1", CancelOptions{Wait: true, Action: "rollback"}))
	err := api.CancelRun(ctx, "t1", "gone", CancelOptions{})
	require.Equal(t, http.StatusNotFound, StatusOf(err))
	require.ErrorContains(t, err, `/threads/t1/runs/gone/cancel?wait=0: HTTP 404: {"detail":"not found"}`)
}

func TestAwaitRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	api, _ := scripted(t, map[string][]string{"GET /threads/t1/runs/r1": {`{"status":"running"}`}})
	_, err := api.AwaitRun(canceled(), "t1", "r1")
	require.Error(t, err)
	_, err = api.AwaitRun(testContext(t), "t1", "r2")
	require.Equal(t, http.StatusNotFound, StatusOf(err))
	require.Zero(t, StatusOf(io.EOF))
}

func TestRunRequestBody(t *testing.T) {
	t.Parallel()
	full := RunRequest{
		AssistantID:       "writer",
		Input:             map[string]any{},
		StreamMode:        []string{"values", "messages-tuple"},
		Config:            map[string]any{"recursion_limit": 5},
		Context:           map[string]any{"mode": "pro"},
		Metadata:          map[string]any{"k": "v"},
		MultitaskStrategy: "enqueue",
		OnDisconnect:      "continue",
		IfNotExists:       "create",
		Extra:             map[string]any{"webhook": nil, "stream_mode": "values"},
	}
	text, err := json.Marshal(full)
	require.NoError(t, err)
	require.JSONEq(t, `{"assistant_id":"writer","input":{},"stream_mode":"values","config":{"recursion_limit":5},
		"context":{"mode":"pro"},"metadata":{"k":"v"},"multitask_strategy":"enqueue","on_disconnect":"continue",
		"if_not_exists":"create","webhook":null}`, string(text))
}

func TestAPIFiles(t *testing.T) {
	t.Parallel()
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/threads/t1/uploads", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, header := range r.MultipartForm.File["files"] {
			file, err := header.Open()
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			content, _ := io.ReadAll(file)
			got = append(got, header.Filename+"="+string(content))
		}
		_, _ = fmt.Fprint(w, `{"success":true,"files":[{"filename":"a.txt","size":3,"virtual_path":"/mnt/a"},{"filename":"b","size":"4"}]}`)
	})
	mux.HandleFunc("GET /api/threads/t1/artifacts/{path...}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.PathValue("path"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	api := NewAPI(server.URL)
	t.Cleanup(api.Close)

	answer, err := api.Upload(testContext(t), "t1", UploadFile{"a.txt", []byte("abc")}, UploadFile{"b", []byte("defg")})
	require.NoError(t, err)
	require.True(t, answer.Success)
	require.Equal(t, []string{"a.txt=abc", "b=defg"}, got)
	require.Equal(t, []string{"3", "4"}, []string{answer.Files[0].Size.String(), answer.Files[1].Size.String()})
	content, err := api.Artifact(testContext(t), "t1", "/mnt/user-data/outputs/my report?.md")
	require.NoError(t, err)
	require.Equal(t, "mnt/user-data/outputs/my report?.md", string(content))
}

func TestAPIReportsWhatItCannotDecode(t *testing.T) {
	t.Parallel()
	api, _ := scripted(t, map[string][]string{"GET /threads/t1": {"<html>"}})
	_, err := api.Thread(testContext(t), "t1")
	require.ErrorContains(t, err, `GET /threads/t1: decode the answer "<html>"`)
	_, err = api.Do(testContext(t), http.MethodPost, "/threads", func() {}, nil)
	require.ErrorContains(t, err, "encode the body")
	_, err = api.Do(testContext(t), "BAD METHOD", "/threads", nil, nil)
	require.ErrorContains(t, err, "invalid method")
	dead := NewAPI("http://127.0.0.1:1")
	_, err = dead.Thread(testContext(t), "t1")
	require.ErrorContains(t, err, "GET /threads/t1")
}

func TestValues(t *testing.T) {
	t.Parallel()
	var values Values
	require.NoError(t, json.Unmarshal([]byte(`{"title":null,"messages":[{"type":"ai","id":"m","content":[{"type":"text","text":"a"}],
		"tool_calls":[{"id":"c","name":"ls","args":{"p":1}}]},{"type":"tool","tool_call_id":"c","status":"error","content":"no"}],
		"__interrupt__":[{"id":"i","value":1}],"todos":3}`), &values))
	messages, err := values.Messages()
	require.NoError(t, err)
	require.Equal(t, "a", messages[0].Text())
	require.Equal(t, map[string]any{"p": 1.0}, messages[0].ToolCalls[0].Args)
	require.Equal(t, []string{"c", "error", "no"}, []string{messages[1].ToolCallID, messages[1].Status, messages[1].Text()})
	interrupts, err := values.Interrupts()
	require.NoError(t, err)
	require.Equal(t, "i", interrupts[0].ID)
	require.Empty(t, values.Title())

	var todos []string
	require.ErrorContains(t, values.Decode("todos", &todos), `decode channel "todos"`)
	require.ErrorContains(t, values.Decode("none", &todos), `no channel "none"`)
	for _, broken := range []Values{{"messages": []byte(`3`), "__interrupt__": []byte(`3`)}} {
		_, err = broken.Messages()
		require.Error(t, err)
		_, err = broken.Interrupts()
		require.Error(t, err)
	}
	messages, err = Values{}.Messages()
	require.NoError(t, err)
	require.Empty(t, messages)
	interrupts, err = Values{}.Interrupts()
	require.NoError(t, err)
	require.Empty(t, interrupts)
}
