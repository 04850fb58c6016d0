package research

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const (
	patience = 90 * time.Second
	report   = "/mnt/user-data/outputs/report.md"
	invented = "https://nowhere.example/invented"
	paperSay = "Figure 7 of the paper says forty-two crashes were outlived."
)

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// config has the test's web behind the tools of the web: one `use:` line each.
func config(m *testkit.Model, w *web) string {
	return testkit.ConfigFor(m, fmt.Sprintf(`tools:
  - {name: web_search, group: web, use: "searxng:web_search", base_url: %q}
  - {name: web_fetch, group: web, use: "http:web_fetch", allow_private_addresses: true}
  - {name: ls, group: "file:read", use: "sandbox:ls"}
  - {name: read_file, group: "file:read", use: "sandbox:read_file"}
  - {name: write_file, group: "file:write", use: "sandbox:write_file"}
  - {name: bash, group: bash, use: "sandbox:bash"}
`, w.URL))
}

func call(id, name string, args map[string]any) testkit.Call {
	return testkit.Call{ID: id, Name: name, Args: args}
}

// script is what the model does, one reply a turn.
func script(w *web) []testkit.Reply {
	text := fmt.Sprintf("# What outlives a crash\n\n%s [citation:Durable execution](%s)\n\nForty-two crashes were outlived (paper.pdf). "+
		"Some say otherwise [citation:Invented](%s).\n", pageFact, w.URL+goodPage, invented)
	return []testkit.Reply{
		testkit.ToolCalls(call("search", "web_search", map[string]any{"query": "durable execution"})),
		testkit.ToolCalls(
			call("good", "web_fetch", map[string]any{"url": w.URL + goodPage}),
			call("gone", "web_fetch", map[string]any{"url": w.URL + missingPage}),
			call("captcha", "web_fetch", map[string]any{"url": w.URL + captchaPage}),
			call("paper", "read_file", map[string]any{"description": "read", "path": "/mnt/user-data/uploads/paper.md"}),
		),
		testkit.ToolCalls(call("count", "bash", map[string]any{"description": "count", "command": "wc -w < /mnt/user-data/uploads/paper.md && echo counted"})),
		testkit.ToolCalls(call("write", "write_file", map[string]any{"description": "write", "path": report, "content": text})),
		testkit.ToolCalls(call("present", "present_files", map[string]any{"filepaths": []string{report}})),
		testkit.Text(fmt.Sprintf("The report is ready. It rests on [citation:Durable execution](%s).", w.URL+goodPage), testkit.WithUsage(500, 50)),
	}
}

// follow answers by how many answers the request has already.
func follow(replies []testkit.Reply) func(*testkit.Request) testkit.Reply {
	return func(r *testkit.Request) testkit.Reply {
		n := 0
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		if n >= len(replies) {
			return testkit.Text("Nothing is left to do.")
		}
		return replies[n]
	}
}

// result is what the model was told of a call.
func result(t *testing.T, m *testkit.Model, callID string) string {
	t.Helper()
	requests := m.Requests()
	text, ok := requests[len(requests)-1].ToolResult(callID)
	require.True(t, ok, "the model was told of call %s", callID)
	return text
}

// evidenceHolds checks what the model was told at each step.
func evidenceHolds(t *testing.T, m *testkit.Model, w *web) {
	t.Helper()
	var found struct {
		Results []struct{ Title, URL, Snippet, Source string }
		Total   int
		Query   string
	}
	raw := result(t, m, "search")
	require.NoError(t, json.Unmarshal([]byte(raw[strings.Index(raw, "{"):strings.LastIndex(raw, "}")+1]), &found), raw)
	require.Equal(t, "durable execution", found.Query)
	require.Equal(t, 3, found.Total)
	require.Equal(t, w.URL+goodPage, found.Results[0].URL)
	require.NotEmpty(t, found.Results[0].Snippet)

	page := result(t, m, "good")
	require.Contains(t, page, "# Durable execution")
	require.Contains(t, page, pageFact)
	require.NotContains(t, page, "<system-reminder>", "N04: a page cannot speak for us")
	for _, id := range []string{"gone", "captcha"} { // N08
		require.Contains(t, result(t, m, id), "Error:", id)
	}
	require.Contains(t, result(t, m, "paper"), paperSay, "the PDF was read as text")
	require.Contains(t, result(t, m, "count"), "counted")
	presented := result(t, m, "present")
	require.Contains(t, presented, invented, "the model is told which citation rests on nothing")
	require.NotContains(t, presented, w.URL+goodPage, "and of no other")
}

// sources are what the thread's report can rest on.
func sources(t *testing.T, api *testkit.API, id string) string {
	t.Helper()
	var out json.RawMessage
	_, err := api.Do(patient(t), "GET", "/api/threads/"+id+"/sources", nil, &out)
	require.NoError(t, err)
	return string(out)
}

func TestResearchThroughTheAPI(t *testing.T) {
	t.Parallel()
	w, m := newWeb(t), testkit.NewModel(t)
	m.Respond(follow(script(w)))
	p := testkit.StartDev(t, testkit.DevOptions{Config: config(m, w)})
	api := p.API()
	ctx := patient(t)
	th, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	up, err := api.Upload(ctx, th.ThreadID, testkit.UploadFile{Name: "paper.pdf", Content: pdf("A paper about crashes.", paperSay)})
	require.NoError(t, err)
	require.True(t, up.Success)
	request := testkit.SayWatched("")
	request.Input = map[string]any{"messages": []any{map[string]any{
		"role": "user", "content": "What outlives a crash? Write a report.",
		"additional_kwargs": map[string]any{"files": []any{map[string]any{"filename": "paper.pdf", "status": "uploaded"}}},
	}}}
	r, err := api.CreateRun(ctx, th.ThreadID, request)
	require.NoError(t, err)
	r, err = api.AwaitRun(ctx, th.ThreadID, r.RunID)
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	evidenceHolds(t, m, w)
	require.Contains(t, m.Requests()[0].Messages[1].Text(), "paper.pdf", "the model was told of the upload")

	list := sources(t, api, th.ThreadID)
	require.Contains(t, list, w.URL+goodPage)
	require.NotContains(t, list, invented)
	var raw map[string]any
	_, err = api.Do(ctx, "GET", "/threads/"+th.ThreadID+"/runs/"+r.RunID, nil, &raw)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(raw["citations"]), invented, "flagged in the run's result: %v", raw)

	artifact, err := api.Artifact(ctx, th.ThreadID, report)
	require.NoError(t, err)
	require.Contains(t, string(artifact), pageFact)
	var changes struct {
		Available bool
		Summary   struct{ Created int }
	}
	_, err = api.Do(ctx, "GET", "/api/threads/"+th.ThreadID+"/runs/"+r.RunID+"/workspace-changes?include_files=true&include_diff=true", nil, &changes)
	require.NoError(t, err)
	require.True(t, changes.Available)
	require.Equal(t, 1, changes.Summary.Created, "the report")
}

func TestResearchThroughTheCommandLine(t *testing.T) {
	t.Parallel()
	w, m := newWeb(t), testkit.NewModel(t)
	m.Respond(follow(script(w)))
	p := testkit.StartDev(t, testkit.DevOptions{Config: config(m, w)})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "paper.pdf"), pdf("A paper about crashes.", paperSay), 0o600))
	stdout, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL, "-o", "json", "What outlives a crash? Write a report.", "paper.pdf"},
		testkit.CLIOptions{Dir: dir, Timeout: patience})
	require.Equal(t, 0, code, stderr)
	var out struct {
		ThreadID string `json:"thread_id"`
		Answer   string `json:"answer"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out), stdout)
	require.Contains(t, out.Answer, "The report is ready.")
	evidenceHolds(t, m, w)

	stdout, stderr, code = testkit.RunCLI(t, []string{"threads", "show", out.ThreadID, "--sources", "--server", p.URL}, testkit.CLIOptions{Dir: dir})
	require.Equal(t, 0, code, stderr)
	before, list, ok := strings.Cut(stdout, "\nSources:\n")
	require.True(t, ok, stdout)
	require.Contains(t, before, invented, "what is cited and was not fetched is named")
	require.Contains(t, list, w.URL+goodPage)
	require.NotContains(t, list, invented)
	stdout, stderr, code = testkit.RunCLI(t, []string{"threads", "export", out.ThreadID, "--format", "html", "--path", report, "--output-file", "report.html", "--server", p.URL}, testkit.CLIOptions{Dir: dir})
	require.Equal(t, 0, code, stdout+stderr)
	exported, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(exported), pageFact)
}

// A process that dies in the middle of a long command costs the command, not the
// research: the model is told that it may have run, and nothing is fetched twice.
func TestResearchOutlivesAKillInALongCommand(t *testing.T) {
	t.Parallel()
	w, m := newWeb(t), testkit.NewModel(t)
	replies := script(w)
	replies[2] = testkit.ToolCalls(call("count", "bash", map[string]any{
		"description": "count", "command": "echo begun >> /mnt/user-data/workspace/begun && sleep 300 && echo counted",
	}))
	m.Respond(follow(replies))
	p := testkit.StartDev(t, testkit.DevOptions{Config: config(m, w)})
	api := p.API()
	ctx := patient(t)
	th, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	_, err = api.Upload(ctx, th.ThreadID, testkit.UploadFile{Name: "paper.pdf", Content: pdf("A paper about crashes.", paperSay)})
	require.NoError(t, err)
	r, err := api.CreateRun(ctx, th.ThreadID, testkit.SayWatched("What outlives a crash? Write a report."))
	require.NoError(t, err)
	begun := filepath.Join(p.DataDir, "users", "default", "threads", th.ThreadID, "user-data", "workspace", "begun")
	require.Eventually(t, func() bool { _, err := os.Stat(begun); return err == nil }, patience, 20*time.Millisecond)
	p.Kill9()
	p = p.Restart(func(o *testkit.DevOptions) { o.Listen = p.Addr() })
	api = p.API()
	r, err = api.AwaitRun(ctx, th.ThreadID, r.RunID)
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	require.Contains(t, result(t, m, "count"), "may have run")
	text, err := os.ReadFile(begun)
	require.NoError(t, err)
	require.Equal(t, "begun\n", string(text), "the command was not run again")
	require.Equal(t, 1, w.asked(goodPage), "a page that was read is not fetched again")
	require.Contains(t, sources(t, api, th.ThreadID), w.URL+goodPage)
}
