package threads

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/cli/locate"
	"deerflow/internal/thread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a session with a fake server, and what it wrote.
type desk struct {
	*Session
	out, errOut bytes.Buffer
}

func open(t *testing.T, s *fakeserver.Server, edit ...func(*Options)) *desk {
	t.Helper()
	d := &desk{}
	o := Options{
		IOStreams: cli.IOStreams{In: strings.NewReader(""), Out: &d.out, ErrOut: &d.errOut},
		Options:   locate.Options{Server: s.URL, DataDir: t.TempDir()},
		Now:       func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
	}
	for _, change := range edit {
		change(&o)
	}
	var err error
	d.Session, err = Open(patient(t), o)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func code(t *testing.T, want cli.ExitCode, err error, pieces ...string) {
	t.Helper()
	require.Equal(t, want, cli.CodeOf(err, -1), "%v", err)
	for _, piece := range pieces {
		require.ErrorContains(t, err, piece)
	}
}

func card(id, text string, options ...string) thread.Interrupt {
	c := thread.Card{RequestID: id, Question: text, InputMode: thread.InputFreeText}
	for _, label := range options {
		c.Options = append(c.Options, thread.Option{ID: label, Label: label, Value: label})
	}
	return thread.Interrupt{ID: id, Value: c}
}

// story is a conversation with everything that a transcript tells.
func story() []thread.Message {
	ask := func(name, id, args string) thread.ToolCall {
		return thread.ToolCall{Name: name, ID: id, Args: json.RawMessage(args)}
	}
	human := thread.Human("h1", "Compare\nthese offers.")
	human.SetKwarg(thread.KeyFiles, []any{map[string]any{"filename": "a.md"}, map[string]any{"filename": "b.md"}})
	hidden := thread.Human("h2", "Today is Monday.")
	hidden.SetKwarg(thread.KeyHidden, true)
	reply := thread.Human("h3", `For your clarification "Which?", my answer is: price`)
	reply.SetKwarg(thread.KeyHidden, true)
	reply.SetKwarg(thread.KeyHumanInputResponse, map[string]any{"request_id": "q0", "value": "price"})
	read, grep := ask("read_file", "c1", `{"path":"/mnt/user-data/uploads/a.md"}`), ask("grep", "c2", `{"pattern":"EUR"}`)
	question := ask("ask_clarification", "c3", `{"question":"Which?","options":["price",{"label":"support","value":"s"}]}`)
	return []thread.Message{
		human, hidden,
		{ID: "a1", Role: thread.RoleAI, Content: thread.Text("I read them."), ToolCalls: []thread.ToolCall{read, grep}, InvalidToolCalls: []thread.InvalidToolCall{{Name: "bash", Error: "the arguments are cut off"}}},
		thread.ToolResult("t1", read, thread.ToolSuccess, "A: 900 EUR"),
		thread.ToolResult("t2", grep, thread.ToolError, "Error: bad\npattern"),
		{ID: "a2", Role: thread.RoleAI, ToolCalls: []thread.ToolCall{question}},
		thread.ToolResult("t3", question, thread.ToolSuccess, "Which?"),
		reply,
		{ID: "a3", Role: thread.RoleAI, ToolCalls: []thread.ToolCall{ask("bash", "c4", `{"command":"sort"}`)}},
		{ID: "a4", Role: thread.RoleAI, Content: thread.Text("Take **A**.")},
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"aaaaaaaa-1", "aaaaaaaa-2", "new"}
	s.Titles = map[string]string{"aaaaaaaa-1": "Offers\x1b[31m"}
	s.Script = []fakeserver.Run{
		{Messages: story(), Questions: []thread.Interrupt{card("q", "For\nwhom?")}},
		{Hold: make(chan struct{})},
	}
	d := open(t, s)
	require.NoError(t, d.Send(patient(t), "aaaaaaaa-2", "go"))
	s.Begin("running")
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 20, Format: cli.FormatText}))
	require.Equal(t, strings.Join([]string{
		"ID          STATUS           UPDATED     TITLE",
		"aaaaaaaa-1  done             -           Offers [31m",
		"aaaaaaaa-2  waiting for you  -           Compare these offers.",
		"new         done             -           (nothing was said yet)",
		"running     working          -           (nothing was said yet)", "",
	}, "\n"), d.out.String())

	d.out.Reset()
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 20, Format: cli.FormatJSON, Status: thread.StatusInterrupted}))
	var items []Item
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &items))
	require.Equal(t, []Item{{ThreadID: "aaaaaaaa-2", Status: "interrupted", StatusText: "waiting for you", Title: "Compare these offers.", Question: "For whom?"}}, items)

	d.out.Reset()
	d.errOut.Reset()
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 1, Format: cli.FormatJSONL}))
	require.Len(t, strings.Split(strings.TrimSpace(d.out.String()), "\n"), 1)
	require.Empty(t, d.errOut.String())
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 1, Format: cli.FormatText}))
	require.Contains(t, d.errOut.String(), "1 of 4 threads")
	d.out.Reset()
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 1, Format: cli.FormatText, Status: thread.StatusError}))
	require.Contains(t, d.errOut.String(), "No thread is failed.")
	require.NoError(t, d.List(patient(t), ListOptions{Limit: 1, Format: cli.FormatJSON, Status: thread.StatusError}))
	require.Equal(t, "[]\n", d.out.String(), "a script gets an array")
	code(t, cli.ExitUsage, d.List(patient(t), ListOptions{Limit: 0}), "1 to 1000")
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]thread.Status{
		"": "", "all": "", "Waiting": thread.StatusInterrupted, "interrupted": thread.StatusInterrupted,
		"busy": thread.StatusBusy, "working": thread.StatusBusy, "failed": thread.StatusError, "idle": thread.StatusIdle, "done": thread.StatusIdle,
	} {
		got, err := ParseStatus(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
		if want != "" {
			again, err := ParseStatus(statusWords(want))
			require.NoError(t, err)
			require.Equal(t, want, again, "what is shown can be asked for")
		}
	}
	_, err := ParseStatus("sleepy")
	code(t, cli.ExitUsage, err, "sleepy", "waiting, working, done or failed")
}

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for _, c := range []struct {
		d    time.Duration
		want string
	}{{-time.Hour, "now"}, {59 * time.Second, "now"}, {time.Minute, "1m"}, {59 * time.Minute, "59m"}, {47 * time.Hour, "47h"}, {48 * time.Hour, "2d"}, {90 * 24 * time.Hour, "2025-12-04"}} {
		require.Equal(t, c.want, age(now, now.Add(-c.d)))
	}
	require.Equal(t, "-", age(now, time.Time{}))
	require.Equal(t, "3h ago", ago("3h"))
}

func TestIdsMayBeCutShort(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"abc1", "abc2", "abd", "ab"}
	d := open(t, s)
	for given, want := range map[string]string{"abd": "abd", "abc1": "abc1", "thread/abc2": "abc2", "ab": "ab"} {
		got, err := d.Find(patient(t), given)
		require.NoError(t, err)
		require.Equal(t, want, got.ID)
	}
	_, err := d.Find(patient(t), "abc")
	code(t, cli.ExitUsage, err, "2 threads begin with abc", "abc1, abc2")
	_, err = d.Find(patient(t), "x")
	code(t, cli.ExitNotFound, err, "there is no thread x")
	_, err = d.Find(patient(t), "../x")
	code(t, cli.ExitUsage, err, "no thread id")
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.APIKey, s.Known = "k", []string{"t"}
	d := open(t, s)
	_, err := d.Find(patient(t), "t")
	code(t, cli.ExitAuth, err, "DEERFLOW_API_KEY")
	s.Away(true)
	_, err = d.Find(patient(t), "t")
	code(t, cli.ExitUnreachable, err)
	_, err = Open(patient(t), Options{Options: locate.Options{DataDir: t.TempDir(), DefaultServer: "http://127.0.0.1:1"}})
	code(t, cli.ExitUnreachable, err, "start one with 'deerflow dev'")
}

func TestShow(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known, s.TemporalUI = []string{"t1"}, "http://ui/"
	s.Script = []fakeserver.Run{{
		Messages: story(), Artifacts: []string{"/mnt/user-data/outputs/report.md"}, Tokens: 5,
		Questions: []thread.Interrupt{card("q", "For whom?", "me", "all")},
	}}
	last := &s.Script[0]
	last.Messages = append(last.Messages, thread.Message{ID: "a5", Role: thread.RoleAI, ToolCalls: []thread.ToolCall{
		{Name: "ask_clarification", ID: "c5", Args: json.RawMessage(`{"question":"For whom?","options":["me","all"]}`)},
	}})
	d := open(t, s)
	require.NoError(t, d.Send(patient(t), "t1", "go"))
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{Format: cli.FormatText}))
	golden(t, "show.txt", d.out.String())

	d.out.Reset()
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{Format: cli.FormatJSON}))
	var v Shown
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &v))
	require.Len(t, v.Messages, len(story())+1)
	require.Equal(t, "q", v.Questions[0].ID)
	require.Equal(t, 10, v.TotalTokens)
	require.Equal(t, "http://ui/namespaces/default/workflows/thread%2Ft1", v.Temporal)
}

func TestExport(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known, s.Titles = []string{"t1"}, map[string]string{"t1": "Offers"}
	s.Script = []fakeserver.Run{{Messages: story(), Artifacts: []string{"/mnt/user-data/outputs/report.md"}}}
	d := open(t, s)
	require.NoError(t, d.Send(patient(t), "t1", "go"))
	require.NoError(t, d.Export(patient(t), "t1", ExportOptions{Format: ExportMarkdown}))
	golden(t, "export.md", d.out.String())

	file := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, d.Export(patient(t), "t1", ExportOptions{Format: ExportJSON, File: file}))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var e struct {
		Format string
		Thread struct {
			Values struct{ Messages []thread.Message }
		}
		Runs []map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &e))
	require.Equal(t, "deerflow-thread/1", e.Format)
	require.Len(t, e.Thread.Values.Messages, len(story()))
	require.Len(t, e.Runs, 1)
	require.Contains(t, d.errOut.String(), file)
	code(t, cli.ExitUsage, d.Export(patient(t), "t1", ExportOptions{Format: "docx"}), "md, json, html or pdf")
	require.ErrorContains(t, d.Export(patient(t), "t1", ExportOptions{Format: "md", File: t.TempDir()}), "writing the export")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"t1", "t2"}
	s.Script = []fakeserver.Run{{Hold: make(chan struct{})}, {Questions: []thread.Interrupt{card("q", "For whom?")}}}
	d := open(t, s)
	code(t, cli.ExitFailed, d.Cancel(patient(t), "t1", false), "nothing was cancelled")
	s.Begin("t1")
	require.NoError(t, d.Cancel(patient(t), "t1", true))
	require.Equal(t, []string{"run-1"}, s.Cancels())
	require.Contains(t, d.errOut.String(), "Run run-1 is cancelled.")
	require.NoError(t, d.Send(patient(t), "t2", "go"))
	require.NoError(t, d.Cancel(patient(t), "t2", false))
	require.Equal(t, []string{"run-1", "run-2"}, s.Cancels())
	require.Contains(t, d.errOut.String(), "question of thread t2 is closed")
	code(t, cli.ExitNotFound, d.Cancel(patient(t), "t9", false))
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"t1", "t2", "t3"}
	s.Script = []fakeserver.Run{{Hold: make(chan struct{})}}
	d := open(t, s)
	code(t, cli.ExitUsage, d.Delete(patient(t), "t1", DeleteOptions{}), "--yes")
	require.Empty(t, s.Deleted())
	require.NoError(t, d.Delete(patient(t), "t1", DeleteOptions{Yes: true}))
	code(t, cli.ExitNotFound, d.Delete(patient(t), "t1", DeleteOptions{Yes: true}))
	atTerminal := func(says string) *desk {
		return open(t, s, func(o *Options) { o.In, o.InIsTTY = strings.NewReader(says), true })
	}
	for _, no := range []string{"", "\n", "n\n", "yep\n"} {
		d := atTerminal(no)
		code(t, cli.ExitFailed, d.Delete(patient(t), "t2", DeleteOptions{}), "nothing was deleted")
		require.Contains(t, d.errOut.String(), "Delete thread t2 with 0 messages")
	}
	require.Equal(t, []string{"t1"}, s.Deleted())
	require.NoError(t, atTerminal("Yes\n").Delete(patient(t), "t2", DeleteOptions{}))
	require.Equal(t, []string{"t1", "t2"}, s.Deleted())
	s.Begin("t3")
	code(t, cli.ExitFailed, d.Delete(patient(t), "t3", DeleteOptions{Yes: true}), "deerflow threads cancel t3")
}

func TestSendAnswersTheOpenQuestion(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"t1"}
	s.Script = []fakeserver.Run{
		{Questions: []thread.Interrupt{card("q1", "Which?", "red", "blue")}},
		{Questions: []thread.Interrupt{card("q2", "A?"), card("q3", "B?")}},
		{},
	}
	d := open(t, s)
	for _, text := range []string{"start", "2", "both"} {
		require.NoError(t, d.Send(patient(t), "t1", text))
	}
	bodies := s.Bodies()
	require.Contains(t, bodies[0], `"content":"start"`)
	require.Contains(t, bodies[1], `"command":{"resume":{"q1":"blue"}}`)
	require.Contains(t, bodies[2], `"content":"both"`, "a message answers all that is open")
	require.Contains(t, d.errOut.String(), "deerflow threads watch t1")
}

// golden compares with a file, which DEERFLOW_UPDATE_GOLDEN=1 writes anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("DEERFLOW_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
