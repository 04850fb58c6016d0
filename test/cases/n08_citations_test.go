package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/client"
	. "deerflow/internal/testkit"
)

// changed is what the API says of the files of a run.
type changed struct {
	Available bool
	Summary   struct {
		Created, Modified, Deleted, Additions, Deletions int
		Truncated                                        bool
	}
	Files []struct{ Path, Status, Diff string }
}

func changesOf(t *testing.T, p *Process, id, runID string) changed {
	t.Helper()
	var c changed
	_, err := p.API().WithPrefix("/api").Do(patient(t), "GET", "/threads/"+id+"/runs/"+runID+"/workspace-changes?include_files=true&include_diff=true", nil, &c)
	require.NoError(t, err)
	return c
}

func citationsOf(t *testing.T, p *Process, id, runID string) *client.Citations {
	t.Helper()
	var r client.Run
	_, err := p.API().Do(patient(t), "GET", "/threads/"+id+"/runs/"+runID, nil, &r)
	require.NoError(t, err)
	return r.Citations
}

// N08: what a report cites is compared with what was fetched; the model can mend
// it, and who reads it is told of the rest.
func TestN08CitationsPointAtWhatWasFetched(t *testing.T) {
	site := webSite(t)
	read, hit, invented := site.URL+"/tides?full=1", site.URL+"/tides", "https://never.example.org/paper"
	report := "# Tides\n\nThey rise[citation:Tides](" + read + "#top), twice[citation:Hit](" + hit + "), always[citation:Paper](" + invented + "), " +
		"as [you say](https://www.given.example.org/x/).\n"
	const file = "/mnt/user-data/outputs/report.md"
	m := NewModel(t)
	m.Enqueue(
		ToolCalls(search("s", "tides"), fetch("f", read), fetch("404", site.URL+"/gone")),
		ToolCalls(call("w", "write_file", map[string]any{"description": "d", "path": file, "content": report})),
		ToolCalls(call("p1", "present_files", map[string]any{"filepaths": []string{file}})),
		ToolCalls(call("r", "str_replace", map[string]any{"description": "d", "path": file, "old_str": ", always[citation:Paper](" + invented + ")", "new_str": ""})),
		ToolCalls(call("p2", "present_files", map[string]any{"filepaths": []string{file}})),
		Text("Done, see also [citation:Gone]("+site.URL+"/gone)."),
	)
	config := strings.Replace(webTools(site, "127.0.0.1"), "  - {name: bash", "  - {name: write_file, group: f, use: \"sandbox:write_file\"}\n  - {name: str_replace, group: f, use: \"sandbox:str_replace\"}\n  - {name: bash", 1) +
		"read_before_write: {enabled: false}\n"
	p := StartDev(t, DevOptions{Config: ConfigFor(m, config)})
	api := p.API()
	id := newThread(t, api)
	r := run(t, api, id, "Write about tides, see https://given.example.org/x")
	require.Equal(t, "success", r.Status)

	requests := m.Requests()
	told := results(requests[3])["p1"]
	require.Contains(t, told, "Successfully presented files\n\nNote on "+file+": 2 of its 4 citations")
	require.Contains(t, told, "take it out together with what rests on it alone:\n- "+invented)
	require.Contains(t, told, "found but not read; fetch it before you rely on it:\n- "+hit)
	again := results(requests[5])["p2"]
	require.NotContains(t, again, invented)
	require.Contains(t, again, "1 of its 3 citations")

	c := citationsOf(t, p, id, r.RunID)
	require.NotNil(t, c)
	require.Equal(t, []client.Citation{
		{Place: file, URL: hit, Title: "Hit", Form: "citation", Grade: "found"},
		{Place: "answer", URL: site.URL + "/gone", Title: "Gone", Form: "citation", Grade: "unknown"},
	}, c.Flagged)
	require.Equal(t, 1, c.Fetched)
	require.Equal(t, 1, c.Given)

	var sources struct{ Sources []client.Source }
	_, err := api.Do(patient(t), "GET", "/threads/"+id+"/sources", nil, &sources)
	require.NoError(t, err)
	kinds := map[string]client.Source{}
	for _, s := range sources.Sources {
		kinds[s.Kind+" "+strings.TrimPrefix(s.URL, site.URL)] = s
	}
	require.Len(t, kinds, 2, "%+v", sources.Sources)
	fetched := kinds["fetch /tides?full=1"]
	require.True(t, fetched.Cited)
	require.True(t, kinds["search /tides"].Cited)
	status, text, header := get(t, p, "/threads/"+id+"/sources/"+fetched.Hash, nil)
	require.Equal(t, 200, status)
	require.Contains(t, text, "The tide rises twice a day.")
	require.Equal(t, "text/plain; charset=utf-8", header.Get("Content-Type"))

	made := changesOf(t, p, id, r.RunID)
	require.True(t, made.Available)
	require.Equal(t, 1, made.Summary.Created)
	require.Equal(t, file, made.Files[0].Path)
	require.Contains(t, made.Files[0].Diff, "+# Tides\n")
	require.NotContains(t, made.Files[0].Diff, invented)

	out, _, code := RunCLI(t, []string{"threads", "show", id, "--sources", "--server", p.URL}, CLIOptions{})
	require.Equal(t, 0, code)
	require.Contains(t, out, "2 of 4 citations point at pages that were not fetched:")
	require.Regexp(t, `\* read .*/tides\?full=1`, out)
	out, _, code = RunCLI(t, []string{"threads", "show", id, "--source", fetched.Hash[:12], "--server", p.URL}, CLIOptions{})
	require.Equal(t, 0, code)
	require.Equal(t, text, out)
	out, _, code = RunCLI(t, []string{"threads", "export", id, "--format", "html", "--path", "report.md", "--server", p.URL}, CLIOptions{})
	require.Equal(t, 0, code)
	require.Contains(t, out, ">Hit</a>")
	require.Contains(t, out, "found by a search on ")
	require.NotContains(t, out, "<script")
}

// What an upload names is given, in the turn that it came with and in those after it.
func TestN08CitationsOfWhatUploadsNameAreNoFalseAlarm(t *testing.T) {
	m := NewModel(t)
	m.Enqueue(Text("见https://docs.example.org/guide，另见https://never.example.org/1。"), Text("As said: https://docs.example.org/guide"))
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	file := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(file, []byte("See the [guide](https://docs.example.org/guide)."), 0o600))
	_, _, code := RunCLI(t, []string{"run", "--thread", id, "--server", p.URL, "What does it say?", file}, CLIOptions{})
	require.Equal(t, 0, code)
	_, _, code = RunCLI(t, []string{"run", "--thread", id, "--server", p.URL, "Again?"}, CLIOptions{})
	require.Equal(t, 0, code)
	var runs []client.Run
	_, err := p.API().Do(patient(t), "GET", "/threads/"+id+"/runs", nil, &runs)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	again, first := runs[0].Citations, runs[1].Citations // the newest comes first
	require.Equal(t, 1, again.Given)
	require.Empty(t, again.Flagged)
	require.Equal(t, 1, first.Given)
	require.Equal(t, []client.Citation{{Place: "answer", URL: "https://never.example.org/1", Form: "bare", Grade: "unknown"}}, first.Flagged)
}

// Changes of files are told of runs that were cut off as well.
func TestChangesOfFilesOutliveAKill(t *testing.T) {
	m := NewModel(t)
	release := NewGate()
	defer release.Release()
	m.Enqueue(
		ToolCalls(sh("echo one > /mnt/user-data/workspace/a.txt")),
		Text("never heard").Before(Hold(release)),
	)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	r, err := p.API().CreateRun(patient(t), id, SayWatched("go"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(m.Requests()) == 2 }, patience, 10*time.Millisecond)
	require.Equal(t, 1, changesOf(t, p, id, r.RunID).Summary.Created)
	p.Kill9()
	m.Enqueue(ToolCalls(sh("echo two >> /mnt/user-data/workspace/a.txt; rm -f /mnt/user-data/workspace/none")), Text("done"))
	p = restarted(p)
	ended, err := p.API().AwaitRun(patient(t), id, r.RunID)
	require.NoError(t, err)
	require.Equal(t, "success", ended.Status)
	c := changesOf(t, p, id, r.RunID)
	require.Len(t, c.Files, 1)
	require.Equal(t, "created", c.Files[0].Status)
	require.Contains(t, c.Files[0].Diff, "+one\n+two\n", "%s", mustJSON(c))
}
