package activities

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/evidence"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
	"deerflow/internal/uploads"
)

// toolSaid stores the result of a tool, as one that ran earlier, with the pages
// that it brought.
func (w *world) toolSaid(n int, tool, text string, sources ...thread.Source) {
	w.t.Helper()
	in := step.CallToolInput{Ref: ref("t1", "r1", n), MessageID: thread.MessageID("r1", n), Pos: int64(n), Call: "c", Name: tool}
	message := thread.ToolResult(in.MessageID, thread.ToolCall{Name: tool, ID: in.Call}, thread.ToolSuccess, text)
	_, err := w.store.Finish(w.t.Context(), store.Owner{Ref: in.Ref, MessageID: in.MessageID}, store.NewRow{
		Pos: in.Pos, Message: message, Sources: sourcesOf(in, &tools.Result{Sources: sources}),
	})
	require.NoError(w.t, err)
}

func fetched(url string) thread.Source {
	return thread.Source{Kind: thread.SourceFetched, URL: url, Text: "text of " + url}
}

func (w *world) checks() []evidence.Check {
	w.t.Helper()
	checks, err := w.store.Checks(w.t.Context(), "t1", "r1")
	require.NoError(w.t, err)
	return checks["r1"]
}

// grades are the citations that a check flags, by their address.
func grades(c evidence.Check) map[string]evidence.Grade {
	found := map[string]evidence.Grade{}
	for _, f := range c.Flags {
		found[f.URL] = f.Grade
	}
	return found
}

func TestN08CitationsOfAnAnswerAreCheckedAgainstWhatWasFetched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.toolSaid(50, "web_fetch", "ok", fetched("https://read.org/page"), thread.Source{Kind: thread.SourceFetched, URL: "https://short.org/x", FinalURL: "https://moved.org/y"})
	w.toolSaid(51, "web_search", "hits", thread.Source{Kind: thread.SourceFound, URL: "https://hit.org/p"})
	w.toolSaid(52, "papers", `{"link":"https://paper.org/1"}`)
	w.toolSaid(53, "read_file", "the report cites https://echo.org/1")
	w.toolSaid(54, "web_fetch", "Error: HTTP 404 for https://gone.org/p")
	w.answer = says("Deer run [citation:Read](http://www.read.org/page/#top), move [citation:M](https://moved.org/y) and jump [citation:S](https://short.org/x). " +
		"See [hit](https://hit.org/p), [paper](https://paper.org/1), [echo](https://echo.org/1), [gone](https://gone.org/p), [citation:Made up](https://never.org/1), " +
		"[file](/mnt/user-data/outputs/r.md), [part](#part), `https://code.org`.")
	out, err := w.callModel()
	require.NoError(t, err)
	checks := w.checks()
	require.Len(t, checks, 1)
	require.Equal(t, evidence.PlaceAnswer, checks[0].Place)
	require.Equal(t, map[string]evidence.Grade{
		"https://hit.org/p": evidence.Found, "https://paper.org/1": evidence.Found, "https://echo.org/1": evidence.Unknown,
		"https://gone.org/p": evidence.Unknown, "https://never.org/1": evidence.Unknown,
	}, grades(checks[0]), "an error page is no evidence, and neither is what the model wrote itself")
	require.Equal(t, 3, checks[0].Fetched)
	require.Equal(t, 8, checks[0].Citations)

	row, err := w.store.GetMessage(t.Context(), "t1", out.Message.ID)
	require.NoError(t, err)
	marked, ok := row.Message.AdditionalKwargs[evidence.KeyCitations].(map[string]any)
	require.True(t, ok)
	require.Len(t, marked["flags"], 5)
}

// What the user names is no invention, in whatever way: no false alarms.
func TestCitationsOfWhatTheUserGave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _, err := w.store.SubmitRun(t.Context(), store.NewRun{
		Run: store.Run{ID: "r2", ThreadID: "t1", User: "default"}, Messages: []thread.Message{thread.Human("m2", "Compare https://given.org/a?x=1&y=2 with bare.org/b, please.")},
	})
	require.NoError(t, err)
	w.upload("notes.md", "As in https://Uploaded.org/Paper#2 and elsewhere")
	w.answer = says("[A](https://given.org/a?x=1&y=2), [B](https://www.bare.org/b), [U](https://uploaded.org/Paper), [longer](https://given.org/a?x=1&y=23)")
	out, err := w.callModel()
	require.NoError(t, err)
	require.Equal(t, map[string]evidence.Grade{"https://given.org/a?x=1&y=23": evidence.Unknown}, grades(w.checks()[0]))
	require.Equal(t, 3, w.checks()[0].Given)

	row, err := w.store.GetMessage(t.Context(), "t1", out.Message.ID)
	require.NoError(t, err)
	require.Contains(t, row.Message.AdditionalKwargs, evidence.KeyCitations)
}

// An upload counts in every turn, in whatever form it names a page, and however
// long it and its lines are.
func TestCitationsOfWhatUploadsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.upload("long.json", strings.Repeat(`{"k": "`+strings.Repeat("x", 5000)+`"},`, 400)+`{"u":"https:\/\/json.org\/a"}`)
	w.upload("page.html", `<a href="https://html.org/?a=1&amp;b=2">`)
	w.upload("report.md", uploads.Mark("report.pdf", 3)+"See https://text.org/a\\_b and https://text.org/longer/than.")
	w.upload("wide.txt", "\xff\xfe"+"h\x00t\x00t\x00p\x00:\x00/\x00/\x00w\x00i\x00d\x00e\x00.\x00o\x00r\x00g\x00")
	edge := strings.Repeat("y", uploadsPiece-len("x  https://edge.org/ab"))
	w.upload("edge.txt", "x "+edge+" https://edge.org/ab/c")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(filepath.Dir(w.file("/mnt/user-data/uploads/edge.txt")), "link")))
	cited := []string{
		"https://json.org/a", "https://html.org/?a=1&b=2", "https://text.org/a_b", "https://wide.org", "https://edge.org/ab/c",
		"https://edge.org/ab", "https://text.org/longer", "https://none.org",
	}
	w.answer = says("见<" + strings.Join(cited, "> <") + ">")
	_, err := w.callModel()
	require.NoError(t, err)
	require.Equal(t, map[string]evidence.Grade{
		"https://edge.org/ab": evidence.Unknown, "https://text.org/longer": evidence.Unknown, "https://none.org": evidence.Unknown,
	}, grades(w.checks()[0]))
	require.Equal(t, 5, w.checks()[0].Given)
}

func TestAnAnswerWithoutCitationsIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("Just words.")
	out, err := w.callModel()
	require.NoError(t, err)
	row, err := w.store.GetMessage(t.Context(), "t1", out.Message.ID)
	require.NoError(t, err)
	require.NotContains(t, row.Message.AdditionalKwargs, evidence.KeyCitations)
	require.Zero(t, w.checks()[0].Citations)
}

func TestPresentFilesTellsWhichCitationsToMend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.toolSaid(50, "web_fetch", "ok", fetched("https://read.org/page"))
	w.toolSaid(51, "web_search", "hits", thread.Source{Kind: thread.SourceFound, URL: "https://hit.org/p"})
	report := "# R\n\nA [citation:R](https://read.org/page). B [citation:H](https://hit.org/p). C [citation:N](https://never.org/1).\n"
	args, err := json.Marshal(map[string]string{"description": "x", "path": "/mnt/user-data/outputs/r.md", "content": report})
	require.NoError(t, err)
	m, _ := w.result(w.askFor("write_file", string(args)))
	require.NotContains(t, m.Content.String(), "never.org", "a draft may still be mended")
	require.Len(t, w.checks()[0].Flags, 2, "but it is checked")

	in := w.askFor("present_files", `{"filepaths":["/mnt/user-data/outputs/r.md"]}`)
	m, out := w.result(in)
	text := m.Content.String()
	require.True(t, strings.HasPrefix(text, "Successfully presented files\n\nNote on /mnt/user-data/outputs/r.md: 2 of its 3 citations"), text)
	require.Contains(t, text, "take it out together with what rests on it alone:\n- https://never.org/1")
	require.Contains(t, text, "found but not read; fetch it before you rely on it:\n- https://hit.org/p")
	require.NotContains(t, text, "read.org")
	require.Equal(t, []string{"/mnt/user-data/outputs/r.md"}, out.State.Artifacts)

	require.NoError(t, os.WriteFile(w.file("/mnt/user-data/outputs/r.md"), []byte("A [citation:R](https://read.org/page)."), 0o600))
	require.NoError(t, os.WriteFile(w.file("/mnt/user-data/outputs/data.csv"), []byte("https://never.org/1"), 0o600))
	in = w.askFor("present_files", `{"filepaths":["/mnt/user-data/outputs/r.md","/mnt/user-data/outputs/data.csv"]}`)
	m, _ = w.result(in)
	require.Equal(t, "Successfully presented files", m.Content.String())
	require.Len(t, w.checks(), 1, "a mended report has no flags any more")
	require.Empty(t, w.checks()[0].Flags)
}

func TestSourcesOfACall(t *testing.T) {
	t.Parallel()
	in := step.CallToolInput{Call: "c1", Name: "web_fetch"}
	list := sourcesOf(in, &tools.Result{Sources: []thread.Source{fetched("https://a.org")}})
	require.Len(t, list, 1)
	require.Equal(t, "c1", list[0].CallID)
	require.False(t, list[0].At.IsZero())
	require.Empty(t, sourcesOf(in, &tools.Result{Error: true, Sources: []thread.Source{fetched("https://a.org")}}), "N08: an error page is no evidence")
}

// filesChanged reads what a run has changed: path and status, + and -.
func (w *world) filesChanged() map[string]string {
	w.t.Helper()
	c, err := w.store.Changes(w.t.Context(), "t1", "r1")
	require.NoError(w.t, err)
	var body struct {
		Files []struct{ Path, Status, Diff string } `json:"files"`
	}
	if len(c.Body) > 0 {
		require.NoError(w.t, json.Unmarshal(c.Body, &body))
	}
	found := map[string]string{}
	for _, f := range body.Files {
		found[filepath.Base(f.Path)] = f.Status
	}
	return found
}

func TestChangesOfARunAreRecordedWithEachResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Empty(t, w.filesChanged())
	in := w.command("echo one > /mnt/user-data/workspace/a.txt; echo two > /mnt/user-data/outputs/b.md; mkdir -p /mnt/user-data/outputs/.tool-results; echo no > /mnt/user-data/outputs/.tool-results/x.log.txt")
	_, _ = w.result(in)
	require.Equal(t, map[string]string{"a.txt": "created", "b.md": "created"}, w.filesChanged(), "10.17-10")

	// Another worker goes on with the run.
	w.acts.ledgers.Purge()
	_, _ = w.result(w.askFor("bash", `{"description":"x","command":"rm /mnt/user-data/workspace/a.txt"}`))
	require.Equal(t, map[string]string{"b.md": "created"}, w.filesChanged(), "made and removed in one run is no change")

	// A command that runs on in the background is seen with the answer.
	require.NoError(t, os.WriteFile(w.file("/mnt/user-data/workspace/late.txt"), []byte("late"), 0o600))
	w.answer = says("Done.")
	model := w.modelInput()
	model.Ref, model.MessageID, model.Pos = ref("t1", "r1", 30), "r1-30", 30
	_, err := w.env.ExecuteActivity(step.CallModel, model)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"b.md": "created", "late.txt": "created"}, w.filesChanged())

	// The next run begins where this one has ended.
	w.start("t1", "r2", "go on")
	c, err := w.store.Changes(t.Context(), "t1", "r2")
	require.NoError(t, err)
	require.Empty(t, c.Body)
	run, _, err := w.store.Baseline(t.Context(), "t1")
	require.NoError(t, err)
	require.Equal(t, "r2", run)
}

// What a run hands over is told whatever its name; of secrets, that they are there.
func TestChangesTellOfDeliverablesAndSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _ = w.result(w.command("cd /mnt/user-data && mkdir -p outputs/dist outputs/build workspace/build && echo page > outputs/dist/index.html && " +
		"echo log > outputs/build/run.log && echo KEY=hidden > workspace/.env && echo o > workspace/build/x.o"))
	require.Equal(t, map[string]string{"index.html": "created", "run.log": "created", ".env": "created"}, w.filesChanged())
	c, err := w.store.Changes(t.Context(), "t1", "r1")
	require.NoError(t, err)
	require.NotContains(t, string(c.Body), "hidden")
	require.Contains(t, string(c.Body), "+page")
}
