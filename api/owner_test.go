package api

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// marker stands in everything that is Ann's.
const marker = "anns-secret-marker"

// withoutThread are the routes that have no thread in their path, each with a
// request that tries to reach Ann's thread, run or file all the same, and what
// Bob must get. A new route has to be listed here, unless a thread stands in its
// path as :thread: then it is guarded before its handler runs.
var withoutThread = map[string]struct {
	body string
	want []int
}{
	"GET /info":                                       {want: []int{200}},
	"GET /v1/auth/me":                                 {want: []int{200}},
	"POST /threads":                                   {body: `{"thread_id":"THREAD","if_exists":"do_nothing","metadata":{"a":1}}`, want: []int{404}},
	"POST /threads/search":                            {body: `{"ids":["THREAD"]}`, want: []int{200}},
	"POST /threads/count":                             {body: `{"ids":["THREAD"]}`, want: []int{200}},
	"POST /threads/prune":                             {body: `{"thread_ids":["THREAD"]}`, want: []int{200}},
	"POST /assistants/search":                         {body: `{}`, want: []int{200}},
	"POST /assistants/count":                          {body: `{}`, want: []int{200}},
	"GET /assistants/:assistant":                      {want: []int{200, 404}},
	"GET /assistants/:assistant/graph":                {want: []int{200, 404}},
	"GET /assistants/:assistant/schemas":              {want: []int{200, 404}},
	"GET /assistants/:assistant/subgraphs":            {want: []int{200, 404}},
	"GET /assistants/:assistant/subgraphs/:namespace": {want: []int{200, 404}},
	"POST /runs":                                      {body: `{"thread_id":"THREAD","input":{"messages":[{"type":"human","content":"x"}]}}`, want: []int{200, 409, 422}},
	"POST /runs/stream":                               {body: `{"thread_id":"THREAD","input":{"messages":[{"type":"human","content":"x"}]}}`, want: []int{200, 409, 422}},
	"POST /runs/wait":                                 {body: `{"thread_id":"THREAD","input":{"messages":[{"type":"human","content":"x"}]}}`, want: []int{200, 409, 422}},
	"POST /runs/batch":                                {body: `[{"thread_id":"THREAD","input":{"messages":[{"type":"human","content":"x"}]}}]`, want: []int{200, 409, 422}},
	"POST /runs/cancel":                               {body: `{"thread_id":"THREAD","run_ids":["RUN"]}`, want: []int{200, 204, 404, 422}},
	"GET /runs/:run/stream":                           {want: []int{404}},
}

// route is a route below a mount.
type route struct{ method, path, base string }

func (r route) name() string { return r.method + " " + r.base }

// guardedRoutes are those that ask for a key.
func guardedRoutes(e *echo.Echo) []route {
	var list []route
	for _, r := range e.Routes() {
		if slices.Contains(publicRoutes(), r.Path) {
			continue
		}
		base := r.Path
		for _, prefix := range []string{"/api/langgraph", "/api"} {
			if rest, ok := strings.CutPrefix(base, prefix+"/"); ok {
				base = "/" + rest
				break
			}
		}
		list = append(list, route{r.Method, r.Path, base})
	}
	slices.SortFunc(list, func(a, b route) int { return strings.Compare(a.name()+a.path, b.name()+b.path) })
	return list
}

// anns is a thread of Ann's with a run, a question and a file.
func (g *guarded) anns(t *testing.T, id string) (runID string) {
	t.Helper()
	_, err := g.store.CreateThread(g.ctx, store.NewThread{ID: id, User: "ann", Metadata: []byte(`{"note":"` + marker + `"}`)}, store.IfExistsRaise)
	require.NoError(t, err)
	runID = "00000000-0000-4000-8000-" + fmt.Sprintf("%012d", len(id)) + "-" + id
	_, _, err = g.store.SubmitRun(g.ctx, store.NewRun{
		Run:      store.Run{ID: runID, ThreadID: id, User: "ann", Metadata: []byte(`{"note":"` + marker + `"}`)},
		Messages: []thread.Message{thread.Human("m-"+id, marker)},
	})
	require.NoError(t, err)
	_, err = g.server.o.Files.Upload(g.ctx, FileOwner{User: "ann", Thread: id}, "secret.txt", strings.NewReader(marker), 1<<20)
	require.NoError(t, err)
	return runID
}

// state is all that the database has of a thread of Ann's.
func (g *guarded) state(t *testing.T, id string) string {
	t.Helper()
	view, err := g.store.View(g.ctx, id, store.ViewOptions{})
	require.NoError(t, err)
	runs, err := g.store.ListRuns(g.ctx, id, store.RunQuery{})
	require.NoError(t, err)
	files, err := g.server.o.Files.List(g.ctx, FileOwner{User: "ann", Thread: id})
	require.NoError(t, err)
	return fmt.Sprintf("%+v\n%+v\n%+v", view, runs, files)
}

func fill(path, threadID, runID string) string {
	return strings.NewReplacer(":thread", threadID, ":run", runID, ":assistant", "lead_agent", ":namespace", "x",
		":checkpoint", "c1", "*", "mnt/user-data/uploads/secret.txt").Replace(path)
}

// peek sends a request. Of a stream that opens it reads nothing: that may last.
func (g *guarded) peek(t *testing.T, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(g.ctx, method, g.http.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for key, value := range header {
		req.Header.Set(key, value)
	}
	res, err := g.http.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return res.StatusCode, "a stream"
	}
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(answer)
}

// TestEveryRouteKeepsUsersApart asks every route of the server, also those that
// nobody has thought of here, without a key, with a wrong one, with the key of
// another user, and with the owner's.
func TestEveryRouteKeepsUsersApart(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, ann := g.key(t, "ann")
	_, bob := g.key(t, "bob")
	g.threads.submit = func(string, step.SubmitRun) error { return refused(step.ErrNoQuestion) }
	routes := guardedRoutes(g.server.echo)
	require.Greater(t, len(routes), 60)
	for i, r := range routes {
		id := fmt.Sprintf("thread%d", i)
		run := g.anns(t, id)
		before := g.state(t, id)
		listed, ok := withoutThread[r.name()]
		inPath := strings.Contains(r.path, ":thread")
		require.True(t, ok || inPath, "%s %s is new: name its thread :thread, or say in withoutThread how it keeps users apart", r.method, r.path)
		path, body := fill(r.path, id, run), strings.NewReplacer("THREAD", id, "RUN", run).Replace(listed.body)
		ask := func(header map[string]string) (int, string) {
			g.turn(failureTime)
			status, answer := g.peek(t, r.method, path, body, header)
			if r.method == http.MethodHead {
				return status, "HEAD"
			}
			return status, answer
		}

		status, answer := ask(nil)
		require.Equal(t, 401, status, "%s %s without a key: %s", r.method, path, answer)
		if r.method != http.MethodHead {
			require.JSONEq(t, wantNoKey, answer)
		}
		status, answer = ask(withKey("df_aaaa_bbbb"))
		require.Equal(t, 401, status, "%s %s with a wrong key: %s", r.method, path, answer)
		if r.method != http.MethodHead {
			require.Contains(t, answer, wantInvalid)
		}
		stopped, cancelled := len(g.threads.stopped), len(g.threads.cancels())
		status, answer = ask(withKey(bob))
		require.NotContains(t, answer, marker, "%s %s shows Ann's to Bob", r.method, path)
		if inPath {
			require.Equal(t, 404, status, "%s %s with another user's key: %s", r.method, path, answer)
			if r.method != http.MethodHead {
				require.JSONEq(t, `{"detail":"Thread `+id+` not found"}`, answer)
			}
		} else {
			require.NotEqual(t, "a stream", answer, "%s %s", r.method, path)
			require.Contains(t, listed.want, status, "%s %s with another user's key: %s", r.method, path, answer)
		}
		require.Equal(t, before, g.state(t, id), "%s %s changed Ann's thread for Bob", r.method, path)
		require.Len(t, g.threads.stopped, stopped, "%s %s", r.method, path)
		require.Len(t, g.threads.cancels(), cancelled, "%s %s", r.method, path)

		if !inPath {
			continue
		}
		path = fill(r.path, id, "nope") // no run that would be waited for
		status, answer = ask(withKey(ann))
		require.NotContains(t, []int{401, 403}, status, "%s %s with the owner's key: %s", r.method, path, answer)
		require.NotContains(t, answer, "Thread "+id+" not found", "%s %s with the owner's key", r.method, path)
	}
}

func TestThreadsAreNeverTakenOver(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, bob := g.key(t, "bob")
	g.anns(t, "t1")
	before := g.state(t, "t1")
	run := `{"input":{"messages":[{"type":"human","content":"mine"}]},"if_not_exists":"create"}`
	for _, prefix := range []string{"", "/api", "/api/langgraph"} {
		for _, exists := range []string{"raise", "do_nothing"} {
			g.check(t, scenario{method: "POST", path: prefix + "/threads", header: withKey(bob), body: `{"thread_id":"t1","if_exists":"` + exists + `"}`, status: 404, want: []string{"Thread t1 not found"}})
		}
		for _, kind := range []string{"", "/stream", "/wait"} {
			g.check(t, scenario{method: "POST", path: prefix + "/threads/t1/runs" + kind, header: withKey(bob), body: run, status: 404})
		}
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("files", "a.txt")
		require.NoError(t, err)
		_, err = part.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		g.check(t, scenario{
			method: "POST", path: prefix + "/threads/t1/uploads", body: form.String(), status: 404,
			header: map[string]string{"X-Api-Key": bob, "Content-Type": w.FormDataContentType()},
		})
	}
	require.Equal(t, before, g.state(t, "t1"))
	require.Empty(t, g.threads.submissions())
	files, err := g.server.o.Files.List(g.ctx, FileOwner{User: "bob", Thread: "t1"})
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestListsHaveOnlyTheCallersThreads(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, ann := g.key(t, "ann")
	_, bob := g.key(t, "bob")
	apis := map[string]*testkit.API{"ann": g.root.WithHeader("x-api-key", ann), "bob": g.root.WithHeader("x-api-key", bob)}
	for _, id := range []string{"a1", "a2"} {
		_, err := apis["ann"].CreateThread(g.ctx, id, map[string]any{"user_id": "bob", "owner_id": "bob"})
		require.NoError(t, err)
	}
	_, err := apis["bob"].CreateThread(g.ctx, "b1", nil)
	require.NoError(t, err)
	for name, want := range map[string]string{ann: `"a1" "a2"`, bob: `"b1"`} {
		status, header, body := g.do(t, "POST", "/threads/search", `{"sort_by":"thread_id","sort_order":"asc","select":["thread_id"]}`, withKey(name))
		require.Equal(t, 200, status)
		for _, id := range strings.Fields(want) {
			require.Contains(t, body, id)
		}
		require.Equal(t, len(strings.Fields(want)), strings.Count(body, "thread_id"), body)
		require.Equal(t, fmt.Sprint(len(strings.Fields(want))), header.Get("X-Pagination-Total"))
	}
	g.check(t, scenario{method: "POST", path: "/api/threads/search", body: `{"ids":["a1"],"metadata":{}}`, header: withKey(bob), status: 200, want: []string{"[]"}})
}

// TestARequestWithoutACallerOwnsNothing: should a route ever run before anybody
// has said whose it is, it must fail closed.
func TestARequestWithoutACallerOwnsNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	c := e.server.echo.NewContext(nil, nil)
	require.Equal(t, nobody, ownerOf(c))
	require.False(t, thread.ValidID(nobody))
	c.Set(callerKey, caller{})
	require.Equal(t, nobody, ownerOf(c))
}
