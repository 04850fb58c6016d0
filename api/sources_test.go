package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/changes"
	"deerflow/internal/evidence"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// answered plays a run of thread t that fetched a page, wrote an answer, and has
// ended; it gives the run's id.
func (e *env) answered(t *testing.T, answer string, checks ...evidence.Check) string {
	t.Helper()
	run := e.say(t, "t", "hello")
	ref := step.Ref{Thread: "t", User: defaultUser, Run: run, Step: 1}
	_, err := e.store.StartRun(e.ctx, store.StartRun{Ref: ref, Pos: 0, AssistantID: "lead_agent", At: time.Now(), Baseline: &store.Baseline{Files: json.RawMessage(`{}`)}})
	require.NoError(t, err)
	finish := func(n int, m thread.Message, row store.NewRow) {
		t.Helper()
		ref.Step = n
		m.ID = thread.MessageID(run, n)
		row.Pos, row.Message = int64(n), m
		_, err := e.store.Finish(e.ctx, store.Owner{Ref: ref, MessageID: m.ID}, row)
		require.NoError(t, err)
	}
	finish(2, thread.ToolResult("", thread.ToolCall{Name: "web_fetch", ID: "c1"}, thread.ToolSuccess, "page"), store.NewRow{Sources: []store.Source{
		{Kind: thread.SourceFetched, Tool: "web_fetch", CallID: "c1", URL: "https://a.org/x", FinalURL: "https://a.org/y", Title: "A", Text: "<script>alert(1)</script>", At: time.Unix(1769331600, 0)},
		{Kind: thread.SourceFound, Tool: "web_search", CallID: "c1", URL: "https://b.org", Title: "B", At: time.Unix(1769331601, 0)},
	}})
	body, err := json.Marshal(changes.Changes{Summary: changes.Summary{Created: 1, Additions: 2}, Files: []changes.File{{Path: "/mnt/user-data/outputs/r.md", Root: "outputs", Status: changes.Created, Diff: "+x", Additions: 2}}})
	require.NoError(t, err)
	finish(3, thread.Message{Role: thread.RoleAI, Content: thread.Text(answer)}, store.NewRow{Checks: checks, Changes: &store.FileChanges{Body: body, At: time.Now()}})
	_, err = e.store.Commit(e.ctx, step.CommitInput{
		Ref: step.Ref{Thread: "t", User: defaultUser, Run: run, Step: 4}, CheckpointID: "cp-" + run, At: time.Now(), Checkpoint: json.RawMessage(`{}`),
		Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: 4}}}, NextPos: 4, Status: thread.StatusIdle,
		State: thread.State{Title: "Deer: a/report", Artifacts: []string{"/mnt/user-data/outputs/r.md", "/mnt/user-data/outputs/gone.md"}},
		Ends:  []thread.End{{RunID: run, Status: thread.RunSuccess}},
	}, func(m *thread.Message, pos int64) thread.Digest { return m.Digest(pos) })
	require.NoError(t, err)
	return run
}

func (e *env) output(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(e.userData("t"), "outputs", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return "/threads/t/artifacts/mnt/user-data/outputs/" + name
}

func TestSourcesOfAThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.answered(t, "x", evidence.Check{
		Place: evidence.PlaceAnswer, Citations: 2, Fetched: 1, Unknown: 1, Keys: []string{"a.org/y", "n.org"},
		Flags: []evidence.Flag{{URL: "https://n.org", Form: evidence.FormCitation, Grade: evidence.Unknown}},
	})
	var list struct {
		Sources []sourceShape `json:"sources"`
		Count   int           `json:"count"`
	}
	for _, prefix := range []string{"", "/api"} {
		_, _, body := e.do(t, "GET", prefix+"/threads/t/sources", "", nil)
		require.NoError(t, json.Unmarshal([]byte(body), &list))
		require.Equal(t, 2, list.Count, body)
	}
	a, b := list.Sources[0], list.Sources[1]
	require.Equal(t, "https://a.org/x", a.URL)
	require.Equal(t, "https://a.org/y", a.FinalURL)
	require.Equal(t, run, a.RunID)
	require.True(t, a.Cited, "under the address where it led")
	require.Equal(t, "2026-01-25T09:00:00.000000+00:00", a.At)
	require.Nil(t, b.Hash)
	require.False(t, b.Cited)
	e.check(t, scenario{method: "GET", path: "/threads/t/sources?kind=search", status: 200, want: []string{`"count":1`, "b.org"}, wantNot: []string{"a.org"}})
	e.check(t, scenario{method: "GET", path: "/threads/t/sources?kind=x", status: 422})
	e.check(t, scenario{method: "GET", path: "/threads/none/sources", status: 404})

	e.check(t, scenario{method: "GET", path: "/threads/t/sources/" + *a.Hash, status: 200, want: []string{"<script>alert(1)</script>"}, headers: map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
	}})
	for _, digits := range []int{8, 12, 63} {
		e.check(t, scenario{method: "GET", path: "/api/threads/t/sources/" + (*a.Hash)[:digits], status: 200, want: []string{"<script>alert(1)</script>"}, headers: map[string]string{
			"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "private, no-cache", "ETag": `"` + *a.Hash + `"`, "Content-Security-Policy": "sandbox; default-src 'none'",
		}})
	}
	for _, hash := range []string{strings.Repeat("0", 64), "x", strings.ToUpper(*a.Hash), "..%2f" + *a.Hash, (*a.Hash)[:7], "00000000", "%25%25%25%25%25%25%25%25", *a.Hash + "0"} {
		e.check(t, scenario{method: "GET", path: "/threads/t/sources/" + hash, status: 404})
	}
	e.thread(t, "other")
	e.check(t, scenario{method: "GET", path: "/threads/other/sources/" + *a.Hash, status: 404})
	e.check(t, scenario{method: "GET", path: "/threads/other/sources/" + (*a.Hash)[:12], status: 404})
	for _, head := range []string{"/threads/t/sources", "/api/threads/t/sources/" + *a.Hash, "/threads/t/export", "/api/threads/t/export?format=html", "/threads/t/export?format=pdf"} {
		e.check(t, scenario{method: "HEAD", path: head, status: 200})
	}
	e.check(t, scenario{method: "HEAD", path: "/threads/none/export", status: 404})
}

func TestCitationsStandInTheRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.answered(t, "x",
		evidence.Check{Place: evidence.PlaceAnswer, Citations: 2, Fetched: 1, Unknown: 1, Flags: []evidence.Flag{{URL: "https://n.org", Title: "N", Form: evidence.FormCitation, Grade: evidence.Unknown}}},
		evidence.Check{Place: "/mnt/user-data/outputs/r.md", Citations: 1, Found: 1, Flags: []evidence.Flag{{URL: "https://b.org", Form: evidence.FormLink, Grade: evidence.Found}}})
	want := `"citations":{"checked":3,"fetched":1,"given":0,"found":1,"unknown":1,"flagged":[` +
		`{"place":"/mnt/user-data/outputs/r.md","url":"https://b.org","form":"link","grade":"found"},` +
		`{"place":"answer","url":"https://n.org","title":"N","form":"citation","grade":"unknown"}]}`
	e.check(t, scenario{method: "GET", path: "/threads/t/runs/" + run, status: 200, want: []string{want}})
	e.check(t, scenario{method: "GET", path: "/threads/t/runs", status: 200, want: []string{want}})
	plain := e.say(t, "t2", "hello")
	e.check(t, scenario{method: "GET", path: "/threads/t2/runs/" + plain, status: 200, wantNot: []string{"citations"}})
}

func TestWorkspaceChanges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.answered(t, "x")
	path := "/api/threads/t/runs/" + run + "/workspace-changes"
	summary := `"summary":{"created":1,"modified":0,"deleted":0,"symlink_created":0,"additions":2,"deletions":0,"truncated":false}`
	e.check(t, scenario{method: "GET", path: path + "?include_files=true&include_diff=false", status: 200, wantNot: []string{"+x"}, want: []string{
		`{"available":true,"version":1,` + summary, `"files":[{"path":"/mnt/user-data/outputs/r.md","root":"outputs","status":"created"`,
		`"size_before":null`, `"sha256_before":null`, `"diff":""`, `"diff_unavailable_reason":null`, `"limits":{`,
	}})
	e.check(t, scenario{method: "GET", path: path + "?include_diff=true", status: 200, want: []string{`"diff":"+x"`}})
	e.check(t, scenario{method: "GET", path: path + "?include_files=false", status: 200, want: []string{summary, `"files":[]`}})
	waits := e.say(t, "t2", "hello")
	e.check(t, scenario{method: "GET", path: "/threads/t2/runs/" + waits + "/workspace-changes", status: 200, want: []string{`{"available":false,"version":1`, `"files":[]`}})
	e.check(t, scenario{method: "GET", path: "/threads/t/runs/none/workspace-changes", status: 404})
}

func TestListArtifacts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.answered(t, "x")
	e.output(t, "r.md", "# R")
	e.check(t, scenario{method: "GET", path: "/threads/t/artifacts", status: 200, want: []string{
		`"artifacts":[{"path":"/mnt/user-data/outputs/r.md","filename":"r.md","artifact_url":"/api/threads/t/artifacts/mnt/user-data/outputs/r.md","exists":true,"size":3`,
		`"filename":"gone.md"`, `"exists":false,"size":0}`, `"count":2`,
	}})
	e.check(t, scenario{method: http.MethodGet, path: "/threads/none/artifacts", status: 404})
}
