package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestNewChecksTheAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:2026", "ftp://x", "http://", "::"} {
		_, err := New(Options{Server: bad})
		require.ErrorContains(t, err, "http://127.0.0.1:2026", bad)
	}
	c, err := New(Options{Server: " http://h:1/ "})
	require.NoError(t, err)
	require.Equal(t, "http://h:1/api", c.base)
}

func TestTypedErrors(t *testing.T) {
	t.Parallel()
	all := []error{ErrUnreachable, ErrUnauthorized, ErrForbidden, ErrNotFound, ErrConflict, ErrUnavailable}
	for _, s := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{401, `{"detail":{"code":"not_authenticated","message":"Authentication required"}}`, ErrUnauthorized, "Authentication required"},
		{403, `{"detail":"Host is not allowed"}`, ErrForbidden, "Host is not allowed"},
		{404, `{"detail":"Thread t not found"}`, ErrNotFound, "Thread t not found"},
		{409, `{"detail":"Thread t already has an active run","run_id":"r-9"}`, ErrConflict, "already has an active run"},
		{503, `{"detail":"Temporal is not available","request_id":"q-1"}`, ErrUnavailable, "(request q-1)"},
		{422, `{"detail":[{"loc":["body","limit"],"msg":"too big","type":"x"},{"loc":["query","a"],"msg":"odd","type":"y"}]}`, nil, "body.limit: too big; query.a: odd"},
		{500, `<html>oops`, nil, "<html>oops"},
	} {
		c := newClient(t, newScripted(t, answer(s.status, s.body)).URL)
		_, err := c.GetThread(testContext(t), "t")
		var status *StatusError
		require.ErrorAs(t, err, &status)
		require.Equal(t, s.status, status.Status)
		require.ErrorContains(t, err, s.text)
		require.ErrorContains(t, err, "GET /threads/t")
		for _, other := range all {
			if errors.Is(other, s.want) {
				require.ErrorIs(t, err, other)
			} else {
				require.NotErrorIs(t, err, other, "%d", s.status)
			}
		}
		if s.status == 409 {
			require.Equal(t, "r-9", status.RunID)
		}
	}
	address := deadAddress(t)
	_, err := newClient(t, address).GetThread(testContext(t), "t")
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, address)
	require.True(t, isDial(err))

	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = newClient(t, address).GetThread(gone, "t")
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnreachable)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := newScripted(t, answer(200, `{"status":"healthy","version":"1"}`), answer(503, `{"status":"unhealthy","detail":"temporal: away"}`))
	c := newClient(t, s.URL)
	h, err := c.Health(testContext(t))
	require.NoError(t, err)
	require.Equal(t, Health{Status: "healthy", Version: "1"}, h)
	h, err = c.Health(testContext(t))
	require.ErrorIs(t, err, ErrUnavailable)
	require.Equal(t, "temporal: away", h.Detail)
}

func TestRequests(t *testing.T) {
	t.Parallel()
	var got []string
	record := func(reply string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = append(got, r.Method+" "+r.URL.RequestURI()+" "+string(body))
			w.Header().Set("X-Pagination-Total", "41")
			_, _ = w.Write([]byte(reply))
		}
	}
	s := newScripted(t, record(`{"thread_id":"t"}`), record(`[{"thread_id":"t"}]`), record(`{"success":true}`), record(`{"next":["tools"],"tasks":[{"interrupts":[{"id":"q","value":{"question":"?"}}]}]}`),
		record(`{"run_id":"r"}`), record(`[]`), record(``), record(`{"run_id":"r"}`),
		record(`{"thread_id":"t","unknown":1}`), record(`[{"unknown":2}]`))
	c := newClient(t, s.URL, func(o *Options) { o.APIKey = "secret" })
	ctx := testContext(t)
	_, err := c.CreateThread(ctx, NewThread{ID: "t", Metadata: map[string]any{"a": 1}})
	require.NoError(t, err)
	list, total, err := c.SearchThreads(ctx, Search{Status: thread.StatusBusy, Limit: 5, SortBy: "created_at", Asc: true})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, 41, total)
	require.NoError(t, c.DeleteThread(ctx, "t"))
	state, err := c.State(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, "q", state.Questions()[0].ID)
	_, err = c.GetRun(ctx, "t", "r")
	require.NoError(t, err)
	_, err = c.ListRuns(ctx, "t")
	require.NoError(t, err)
	require.NoError(t, c.CancelRun(ctx, "t", "r", CancelOptions{Action: thread.CancelRollback, Wait: true}))
	_, err = c.StartRun(ctx, "t", RunRequest{
		Messages: []thread.Message{thread.Human("m", "hi")}, Context: map[string]any{"model_name": "demo"}, CreateThread: true,
		CancelOnDisconnect: true, Multitask: thread.MultitaskEnqueue, RecursionLimit: 7, Key: "k", Modes: []string{"values"},
	})
	require.NoError(t, err)
	raw, err := c.RawThread(ctx, "t")
	require.NoError(t, err)
	require.JSONEq(t, `{"thread_id":"t","unknown":1}`, string(raw))
	raw, err = c.RawRuns(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, `[{"unknown":2}]`, string(raw))
	require.Equal(t, []string{
		`POST /api/threads {"if_exists":"do_nothing","metadata":{"a":1},"thread_id":"t"}`,
		`POST /api/threads/search {"limit":5,"offset":0,"sort_by":"created_at","sort_order":"asc","status":"busy"}`,
		`DELETE /api/threads/t `,
		`GET /api/threads/t/state `,
		`GET /api/threads/t/runs/r `,
		`GET /api/threads/t/runs `,
		`POST /api/threads/t/runs/r/cancel?action=rollback&wait=1 `,
		`POST /api/threads/t/runs {"config":{"recursion_limit":7},"context":{"model_name":"demo"},"if_not_exists":"create",` +
			`"input":{"messages":[{"id":"m","type":"human","content":"hi","additional_kwargs":{},"response_metadata":{}}]},` +
			`"multitask_strategy":"enqueue","on_disconnect":"cancel","stream_mode":["values"]}`,
		`GET /api/threads/t `,
		`GET /api/threads/t/runs `,
	}, got)
	for _, r := range s.seen() {
		require.Equal(t, "secret", r.Header.Get("X-Api-Key"))
	}
	require.Equal(t, "k", s.seen()[7].Header.Get("Idempotency-Key"))
	body, err := json.Marshal(RunRequest{Resume: "yes"})
	require.NoError(t, err)
	require.JSONEq(t, `{"command":{"resume":"yes"},"on_disconnect":"continue","stream_mode":["messages-tuple","values","updates","custom"]}`, string(body))
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	s := newScripted(t,
		func(w http.ResponseWriter, r *http.Request) {
			f, header, err := r.FormFile("files")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			data, _ := io.ReadAll(f)
			answer(200, `{"files":[{"filename":"`+header.Filename+`","size":`+string(rune('0'+len(data)))+`,"virtual_path":"/mnt/x"}]}`)(w, r)
		},
		answer(413, `{"detail":"File is larger than the limit"}`),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="_.md"; filename*=UTF-8''%E5%AD%A3.md`)
			_, _ = w.Write([]byte("report"))
		},
		answer(404, `{"detail":"Artifact not found"}`),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="../../evil"`)
		},
	)
	c, ctx := newClient(t, s.URL), testContext(t)
	f, err := c.Upload(ctx, "t", "a b.txt", strings.NewReader("hello"))
	require.NoError(t, err)
	require.Equal(t, "a b.txt", f.Name)
	require.EqualValues(t, 5, f.Size)
	require.Equal(t, map[string]any{"filename": "a b.txt", "size": int64(5), "path": "/mnt/x", "status": "uploaded"}, f.Reference())
	_, err = c.Upload(ctx, "t", "big", strings.NewReader(strings.Repeat("x", 8<<20)))
	require.ErrorContains(t, err, "larger than the limit")
	a, err := c.DownloadArtifact(ctx, "t", "/mnt/user-data/outputs/季 1.md")
	require.NoError(t, err)
	data, err := io.ReadAll(a)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.Equal(t, "report", string(data))
	require.Equal(t, "季.md", a.Name)
	require.EqualValues(t, 6, a.Size)
	require.Equal(t, "/api/threads/t/artifacts/mnt/user-data/outputs/%E5%AD%A3%201.md?download=true", s.seen()[2].URL.RequestURI())
	_, err = c.DownloadArtifact(ctx, "t", "/mnt/user-data/outputs/x")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = c.DownloadArtifact(ctx, "t", "/mnt/user-data/outputs/x")
	require.ErrorContains(t, err, "evil")
}

func TestWait(t *testing.T) {
	t.Parallel()
	s := newScripted(t,
		func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("\n")); cutOff(w, r) },
		answer(503, `{"detail":"shutting down"}`),
		answer(200, "\n\n"+`{"title":"T","messages":[{"type":"ai","id":"1","content":"done"}],"__interrupt__":[{"id":"q","value":{"question":"?"}}]}`),
		answer(200, `{"__error__":{"error":"RunError","message":"it broke"}}`),
		answer(404, `{"detail":"Run r not found"}`),
	)
	c, ctx := newClient(t, s.URL), testContext(t)
	r, err := c.Wait(ctx, "t", "r")
	require.NoError(t, err, "over a cut and a restart")
	require.Equal(t, "T", r.Values.Title)
	require.Equal(t, "done", r.Values.Messages[0].Content.String())
	require.Equal(t, "q", r.Questions[0].ID)
	_, err = c.Wait(ctx, "t", "r")
	var failed *RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "it broke", failed.Message)
	_, err = c.Wait(ctx, "t", "r")
	require.ErrorIs(t, err, ErrNotFound)
}
