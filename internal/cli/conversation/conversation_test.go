package conversation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

func TestTextGivesTheAnswerThenTheReport(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.TemporalUI = "http://127.0.0.1:8233"
	s.Script = []fakeserver.Run{readingRun()}
	s.Files["/mnt/user-data/outputs/report.md"] = "# Report\n\nAll is well.\n"
	c := newCall(t, s)
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, "It is good.\n\n# Report\n\nAll is well.\n", c.out.String())
	require.Equal(t, strings.TrimLeft(`
Thread THREAD · run run-1
Temporal: http://SERVER/namespaces/default/workflows/thread%2FTHREAD
  I look at it.
• read_file README.md
✓ read_file 0.0s
✓ report.md 23 B http://SERVER/api/threads/THREAD/artifacts/mnt/user-data/outputs/report.md
Model calls: 1 · tokens: 40
`, "\n"), c.progress())
	require.JSONEq(t, `{"input":{"messages":[{"id":"","type":"human","content":"Why?","additional_kwargs":{},"response_metadata":{}}]},
		"if_not_exists":"create","on_disconnect":"continue","stream_mode":["messages-tuple","updates","custom"]}`, s.Bodies()[0])
}

func TestJSONIsOneObject(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{readingRun()}
	s.Files["/mnt/user-data/outputs/report.md"] = "# Report <1>\n"
	c := newCall(t, s)
	c.Format, c.Quiet, c.Thread = cli.FormatJSON, true, "t1"
	s.Known = []string{"t1"}
	require.NoError(t, c.run(cli.ExitDone))
	require.Empty(t, c.errOut.String())
	require.Equal(t, Result{
		ThreadID: "t1", RunID: "run-1", Status: "success", Answer: "It is good.",
		Files: []File{{Path: "/mnt/user-data/outputs/report.md", Name: "report.md", Size: 13, MIME: "text/markdown", Text: "# Report <1>\n"}},
		Usage: Usage{InputTokens: 20, OutputTokens: 20, TotalTokens: 40, ModelCalls: 1},
	}, c.result())
	require.NotContains(t, s.Bodies()[0], "if_not_exists", "a thread that was named is not made")
}

func TestJSONLIsTheEventsThenTheResult(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{answeringRun("Because.")}
	s.Script[0].Events = []string{`values {"messages":[]}`, `custom {"a":"<b>"}`}
	c := newCall(t, s)
	c.Format, c.Thread = cli.FormatJSONL, "t1"
	s.Known = []string{"t1"}
	require.NoError(t, c.run(cli.ExitDone))
	lines := strings.Split(strings.TrimSuffix(c.out.String(), "\n"), "\n")
	require.Equal(t, []string{
		`{"event":"metadata","id":"1-0","data":{"run_id":"run-1","thread_id":"t1"}}`,
		`{"event":"values","id":"2-0","data":{"messages":[]}}`,
		`{"event":"custom","id":"3-0","data":{"a":"<b>"}}`,
		`{"event":"end","data":null}`,
	}, lines[:4])
	require.Len(t, lines, 5)
	require.JSONEq(t, `{"event":"result","data":{"thread_id":"t1","run_id":"run-1","status":"success","answer":"Because.","files":[],
		"usage":{"input_tokens":10,"output_tokens":10,"total_tokens":20,"model_calls":1}}}`, lines[4])
	require.Contains(t, s.Bodies()[0], `"values"`)
}

func TestFilesAreUploadedAndNamed(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{answeringRun("Read.")}
	c := newCall(t, s)
	first := c.file("a.txt", "one")
	c.Files = []string{first, c.file("a.txt", "two"), first}
	c.Model = "gpt-x"
	require.NoError(t, c.run(cli.ExitDone))
	uploads := s.Uploads()
	require.Len(t, uploads, 2, "a file that is named twice is sent once")
	require.Equal(t, "one", uploads[0].Content)
	require.Contains(t, c.progress(), "✓ uploaded a.txt\n✓ uploaded a.txt as 2-a.txt\n")
	var body struct {
		Input struct {
			Messages []thread.Message `json:"messages"`
		} `json:"input"`
		Context map[string]string `json:"context"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.Bodies()[0]), &body))
	require.Equal(t, map[string]string{"model_name": "gpt-x"}, body.Context)
	require.Equal(t, []any{
		map[string]any{"filename": "a.txt", "size": 3.0, "path": "/mnt/user-data/uploads/a.txt", "status": "uploaded"},
		map[string]any{"filename": "2-a.txt", "size": 3.0, "path": "/mnt/user-data/uploads/2-a.txt", "status": "uploaded"},
	}, body.Input.Messages[0].AdditionalKwargs[thread.KeyFiles])
}

// What came of the text of a document is said where the file is sent.
func TestUploadsTellOfTheirTexts(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{answeringRun("Read.")}
	s.Conversions = map[string]map[string]any{
		"scan.pdf":   {"markdown_file": "scan.md", "conversion_warning": "Its pages are probably scanned."},
		"locked.pdf": {"conversion_error": "it is protected by a password"},
	}
	c := newCall(t, s)
	c.Files = []string{c.file("scan.pdf", "%PDF"), c.file("locked.pdf", "%PDF"), c.file("a.txt", "one")}
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, c.progress(), "✓ uploaded scan.pdf\nscan.pdf: Its pages are probably scanned.\n"+
		"✓ uploaded locked.pdf\nlocked.pdf has no text that can be read: it is protected by a password\n✓ uploaded a.txt\n")
}

func TestFilesThatCannotBeSentStopEverything(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"missing.txt": "no such file", t.TempDir(): "is a directory", os.DevNull: "is no regular file",
	} {
		s := fakeserver.New(t)
		c := newCall(t, s)
		c.Files = []string{name}
		require.ErrorContains(t, c.run(cli.ExitUsage), want)
		require.Empty(t, s.Bodies())
		require.Empty(t, s.Uploads())
	}
}

func TestRefusedUploadIsAUsageError(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	c := newCall(t, s)
	c.Files = []string{c.file("big.bin", "too large")}
	require.ErrorContains(t, c.run(cli.ExitUsage), "File big.bin is larger than the limit")
	require.Empty(t, s.Bodies())
}

func TestQuestionFromStandardInput(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{answeringRun("Because.")}
	c := newCall(t, s).stdin("line one\nline two\n\n")
	c.Question = "-"
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, s.Bodies()[0], `"content":"line one\nline two"`)

	c = newCall(t, s).stdin(" \n")
	c.Question = "-"
	require.ErrorContains(t, c.run(cli.ExitUsage), "the question is empty")
}

func TestNonsenseIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*call){
		"a question is needed":    func(c *call) { c.Question = "" },
		"the question is empty":   func(c *call) { c.Question = "  " },
		"--attach needs --thread": func(c *call) { c.Question, c.Attach = "", true },
		"takes no question":       func(c *call) { c.Attach, c.Thread = true, "t" },
		"is no thread id":         func(c *call) { c.Thread = "../etc" },
		"must not be negative":    func(c *call) { c.Timeout = -time.Second },
	} {
		c := newCall(t, nil)
		change(c)
		require.ErrorContains(t, c.run(cli.ExitUsage), want)
	}
}

func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	fallback := ai("The model could not be reached.")
	fallback.SetKwarg(thread.KeyErrorFallback, true)
	for name, c := range map[string]struct {
		run    fakeserver.Run
		code   cli.ExitCode
		err    string
		answer string
		status string
	}{
		"failed": {
			fakeserver.Run{Status: thread.RunError, Error: "disk full"}, cli.ExitFailed, "the run failed: disk full", "", "error",
		},
		"failed with a message": {
			fakeserver.Run{Status: thread.RunError, Messages: []thread.Message{fallback}}, cli.ExitFailed, "The model could not be reached.", "", "error",
		},
		"failed with an event only": {
			fakeserver.Run{Status: thread.RunError, Events: []string{`error {"error":"RunError","message":"it broke"}`}}, cli.ExitFailed, "it broke", "", "error",
		},
		"timed out": {fakeserver.Run{Status: thread.RunTimeout, Error: "1h"}, cli.ExitTimeout, "longer than it may: 1h", "", "timeout"},
		"partial": {
			fakeserver.Run{StopReason: "turn_capped", Messages: []thread.Message{ai("So far.")}}, cli.ExitPartial, "(turn_capped)", "So far.", "success",
		},
		"stopped elsewhere": {
			fakeserver.Run{Status: thread.RunInterrupted, Messages: []thread.Message{ai("So f")}}, cli.ExitInterrupted, "the run was stopped", "So f", "interrupted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakeserver.New(t)
			s.Script = []fakeserver.Run{c.run}
			call := newCall(t, s)
			call.Format = cli.FormatJSON
			require.ErrorContains(t, call.run(c.code), c.err)
			r := call.result()
			require.Equal(t, c.answer, r.Answer)
			require.Equal(t, c.status, r.Status)
			require.Equal(t, c.run.StopReason, r.StopReason)
			require.Equal(t, c.status == "error" || c.status == "timeout", r.Error != "")
		})
	}
}

func TestEarlierAnswersAndFilesAreNotThisOnes(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	present := thread.Message{Role: thread.RoleAI, ToolCalls: []thread.ToolCall{
		{ID: "c1", Name: "present_files", Args: json.RawMessage(`{"filepaths":["outputs/b.json","/mnt/user-data/outputs/c.bin"]}`)},
	}}
	s.Script = []fakeserver.Run{{
		Messages: []thread.Message{
			thread.Human("q0", "First"), ai("Old answer."), thread.Human("q1", "Second"), present,
			thread.ToolResult("r", thread.ToolCall{ID: "c1", Name: "present_files"}, thread.ToolSuccess, "ok"),
		},
		Artifacts: []string{"/mnt/user-data/outputs/a.md", "/mnt/user-data/outputs/b.json", "/mnt/user-data/outputs/c.bin"},
	}}
	s.Files = map[string]string{"/mnt/user-data/outputs/b.json": `{"x":1}`, "/mnt/user-data/outputs/c.bin": "\x00\x01"}
	s.Known = []string{"t1"}
	c := newCall(t, s)
	c.Thread, c.Format = "t1", cli.FormatJSON
	require.NoError(t, c.run(cli.ExitDone))
	r := c.result()
	require.Empty(t, r.Answer)
	require.Equal(t, []File{
		{Path: "/mnt/user-data/outputs/b.json", Name: "b.json", Size: 7, MIME: "application/json", Text: `{"x":1}`},
		{Path: "/mnt/user-data/outputs/c.bin", Name: "c.bin", Size: 2, MIME: "application/octet-stream"},
	}, r.Files)
}

func TestSeveralReportsGetTheirNames(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	run := readingRun()
	run.Events[2] = `updates {"tools":{"artifacts":["/mnt/user-data/outputs/report.md","/mnt/user-data/outputs/old.md","/mnt/user-data/outputs/gone.md"]}}`
	run.Artifacts = append(run.Artifacts, "/mnt/user-data/outputs/gone.md")
	s.Script = []fakeserver.Run{run}
	s.Files["/mnt/user-data/outputs/report.md"] = "# Report\x1b[2J"
	s.Files["/mnt/user-data/outputs/old.md"] = "# Old\n"
	c := newCall(t, s)
	c.OutIsTTY = true
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, "It is good.\n\n==> old.md <==\n# Old\n\n==> report.md <==\n# Report[2J\n", c.out.String())
	require.Contains(t, c.errOut.String(), "The file /mnt/user-data/outputs/gone.md cannot be read")
}

func TestFilesOfALocalServerAreNamedWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{readingRun()}
	s.Known = []string{"t1"}
	s.Files["/mnt/user-data/outputs/report.md"] = "x"
	c := newCall(t, nil)
	c.Thread = "t1"
	announce(t, c.DataDir, s.URL)
	path := filepath.Join(c.DataDir, "users", "default", "threads", "t1", "user-data", "outputs", "report.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, c.errOut.String(), "✓ report.md 1 B "+cli.Cut(path, 150))
}

func announce(t *testing.T, dataDir, url string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"pid": 1, "url": url, "temporal_ui": url + "/temporal"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dataDir, "server.json"), data, 0o600))
}

func TestUnsoundCitationsAreTold(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{answeringRun("Because [citation:N](https://n.org).")}
	s.Script[0].Citations = map[string]any{"checked": 1, "unknown": 1, "flagged": []any{
		map[string]any{"place": "answer", "url": "https://n.org", "form": "citation", "grade": "unknown"},
	}}
	c := newCall(t, s)
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, c.progress(), "The only citation points at a page that was not fetched:\n  https://n.org (nothing in the thread names it)\n")

	c = newCall(t, s)
	s.Script = append(s.Script, s.Script[0])
	c.Format, c.Quiet = cli.FormatJSON, true
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, 1, c.result().Citations.Unknown)
}
