package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// desk runs a demo thread: it plays the tools and keeps the history.
type desk struct {
	t       *testing.T
	model   Chatter
	files   map[string]string
	history []thread.Message
	tools   []agent.ToolSpec
	broken  map[string]bool // tools that fail
	noTools bool
	turns   []string // the tools of every turn
	first   string   // the first text of the run
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	return &desk{t: t, model: NewDemo(Options{Delay: -1}), files: files, tools: testTools(), broken: map[string]bool{}}
}

// ask adds a message and runs until the demo asks or answers; it returns the
// last message.
func (d *desk) ask(m thread.Message) thread.Message {
	d.t.Helper()
	d.history = append(d.history, m)
	d.turns, d.first = nil, ""
	for step := range 12 {
		h := hear(d.model, Request{Messages: d.history, Tools: d.tools, NoTools: d.noTools, Scope: fmt.Sprintf("run-%d", step)})
		require.NoError(d.t, h.err)
		requireConsistent(d.t, h)
		answer := h.resp.Message
		answer.ID = fmt.Sprintf("ai-%d", len(d.history))
		d.history = append(d.history, answer)
		if step == 0 {
			d.first = answer.Content.String()
		}
		var names []string
		for _, c := range answer.ToolCalls {
			names = append(names, c.Name)
			d.history = append(d.history, d.run(c))
		}
		d.turns = append(d.turns, strings.Join(names, " "))
		if len(names) == 0 || slices.Contains(names, "ask_clarification") && !d.broken["ask_clarification"] {
			return answer
		}
	}
	d.t.Fatal("the demo does not come to an end: ", d.turns)
	return thread.Message{}
}

func (d *desk) run(c thread.ToolCall) thread.Message {
	var args map[string]any
	require.NoError(d.t, json.Unmarshal(c.Args, &args))
	text := func(name string) string { return fmt.Sprint(args[name]) }
	if d.broken[c.Name] {
		return thread.ToolResult("", c, thread.ToolError, "Error: "+c.Name+" is out of order")
	}
	out := "OK"
	switch c.Name {
	case "ls":
		require.Equal(d.t, uploadsDir, text("path"))
		out = "(empty)"
		if names := d.names(); len(names) > 0 {
			out = uploadsDir + "/\n" + strings.Join(names, "\n")
		}
	case "read_file":
		body, ok := d.files[path.Base(text("path"))]
		if !ok {
			return thread.ToolResult("", c, thread.ToolError, "Error: File not found: "+text("path"))
		}
		out = body
	case "grep":
		out = "No matches found under " + uploadsDir
		words := strings.Split(text("pattern"), "|")
		var hits []string
		for _, name := range d.names() {
			for n, line := range strings.Split(d.files[path.Base(name)], "\n") {
				if relevance(line, words) > 0 {
					hits = append(hits, fmt.Sprintf("%s:%d: %s", name, n+1, line))
				}
			}
		}
		if len(hits) > 0 {
			out = strings.Join(hits, "\n")
		}
	case "write_file":
		if strings.HasPrefix(text("path"), outputsDir) && d.files[text("path")] != "" {
			return thread.ToolResult("", c, thread.ToolError, "Error: read the file before you write it")
		}
		d.files[text("path")] = text("content")
	case "present_files":
		out = "Successfully presented files"
	case "ask_clarification":
		out = "❓ " + text("question")
	}
	return thread.ToolResult("", c, thread.ToolSuccess, out)
}

// names are the uploaded files.
func (d *desk) names() []string {
	var names []string
	for name := range d.files {
		if !strings.HasPrefix(name, outputsDir) {
			names = append(names, uploadsDir+"/"+name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *desk) without(tools ...string) *desk {
	d.tools = slices.DeleteFunc(d.tools, func(s agent.ToolSpec) bool { return slices.Contains(tools, s.Name) })
	return d
}

// answered is an answer to the demo's question as the page sends it.
func answered(value string) thread.Message {
	m := thread.Human("", fmt.Sprintf(`For your clarification %q, my answer is: %s`, demoQuestion, value))
	m.SetKwarg(thread.KeyHidden, true)
	m.SetKwarg(thread.KeyHumanInputResponse, map[string]any{"version": 1, "value": value, "response_kind": "text"})
	return m
}

func uploads() map[string]string {
	return map[string]string{
		"tides.md":  "# Tides\n\nThe harbour of Emden silts up.\nDredging costs 12 million euros a year.\nSheep graze on the dyke.\n",
		"costs.csv": "year,dredging\n2023,11\n2024,12\n",
		"photo.png": "\x89PNG",
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, uploads())
	asked := d.ask(thread.Human("h1", "What does dredging in the harbour of Emden cost?"))
	require.Contains(t, d.first, "built-in demo model")
	require.Contains(t, d.first, "no AI")
	require.Equal(t, []string{"ask_clarification"}, d.turns)
	var card struct {
		Question string   `json:"question"`
		Type     string   `json:"clarification_type"`
		Options  []string `json:"options"`
	}
	require.NoError(t, json.Unmarshal(asked.ToolCalls[0].Args, &card))
	require.NotEmpty(t, card.Question)
	require.Equal(t, "missing_info", card.Type)
	require.Len(t, card.Options, 3)

	final := d.ask(answered(optionBrief))
	require.Equal(t, []string{"ls", "read_file read_file grep", "write_file", "present_files", ""}, d.turns)
	require.Contains(t, final.Content.String(), "/mnt/user-data/outputs/report.md")
	require.Contains(t, final.Content.String(), "not from an AI")
	report := d.files[outputsDir+"/report.md"]
	for _, want := range []string{
		"# Report: What does dredging in the harbour of Emden cost?", "demo model",
		"> The harbour of Emden silts up.\n>\n> — `tides.md`, line 3", "Dredging costs 12 million euros a year.", "`tides.md`, line 4",
		"`costs.csv`, line 1", demoQuestion, optionBrief, "| `tides.md` | 5 |", "Not read: `photo.png`.",
		"## In short\n\n- “Dredging costs 12 million euros a year.” (`tides.md`, line 4)",
	} {
		require.Contains(t, report, want)
	}
	require.NotContains(t, report, "Sheep")

	// Another question in the thread: no second clarification, another report.
	d.ask(thread.Human("h2", "And what of the sheep?"))
	require.Equal(t, []string{"ls", "read_file read_file grep", "write_file", "present_files", ""}, d.turns)
	require.Contains(t, d.first, "demo model")
	require.Contains(t, d.files[outputsDir+"/report-2.md"], "Sheep graze on the dyke.")
	require.NotContains(t, d.files[outputsDir+"/report-2.md"], "## Clarification")
}

func TestDemoAnswersThatChangeTheReport(t *testing.T) {
	t.Parallel()
	report := func(answer string) string {
		d := newDesk(t, map[string]string{"a.txt": strings.Repeat("dredging here\n", 20)})
		d.ask(thread.Human("h1", "dredging?"))
		d.ask(answered(answer))
		return d.files[outputsDir+"/report.md"]
	}
	require.Equal(t, briefQuotes, strings.Count(report(optionBrief), "> dredging here"))
	require.Equal(t, fullQuotes, strings.Count(report(optionFull), "> dredging here"))
	require.Equal(t, keyPoints, strings.Count(report(optionPoints), "- “dredging here”"))
	require.Contains(t, report("for my aunt"), "- Answered: for my aunt")
}

func TestDemoWithoutFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{})
	d.ask(thread.Human("h1", "Why?"))
	final := d.ask(thread.Human("h2", "short please")) // a plain answer
	require.Equal(t, []string{"ls", "write_file", "present_files", ""}, d.turns)
	require.Contains(t, d.files[outputsDir+"/report.md"], "No files were uploaded")
	require.Contains(t, d.files[outputsDir+"/report.md"], "- Answered: short please")
	require.Contains(t, final.Content.String(), "No files were uploaded")
}

func TestDemoWithFewerTools(t *testing.T) {
	t.Parallel()
	d := newDesk(t, uploads()).without("ask_clarification")
	d.ask(thread.Human("h1", "Dredging?"))
	require.Equal(t, []string{"ls", "read_file read_file grep", "write_file", "present_files", ""}, d.turns)

	d = newDesk(t, uploads()).without("ask_clarification", "grep", "write_file", "present_files")
	final := d.ask(thread.Human("h1", "Dredging?"))
	require.Equal(t, []string{"ls", "read_file read_file", ""}, d.turns)
	require.Contains(t, final.Content.String(), "> Dredging costs 12 million euros a year.")

	d = newDesk(t, uploads())
	d.tools = nil
	final = d.ask(thread.Human("h1", "Dredging?"))
	require.Contains(t, final.Content.String(), "demo model")

	d = newDesk(t, uploads())
	d.noTools = true
	d.ask(thread.Human("h1", "Dredging?"))
	require.Equal(t, []string{""}, d.turns)
}

func TestDemoWithFailingTools(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"ask_clarification": "The report is in", "ls": "could not be listed", "read_file": "could not be read",
		"grep": "The report is in", "write_file": "could not be saved", "present_files": "The report is in",
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, uploads())
			d.broken[tool] = true
			final := d.ask(thread.Human("h1", "Dredging?"))
			if tool != "ask_clarification" {
				final = d.ask(answered(optionBrief))
			}
			require.Contains(t, final.Content.String(), want)
			if tool == "write_file" {
				require.Equal(t, 2, strings.Count(strings.Join(d.turns, " "), "write_file"))
				require.Contains(t, final.Content.String(), "> Dredging costs")
			}
		})
	}
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, uploads())
		for _, s := range d.tools {
			d.broken[s.Name] = true
		}
		d.ask(thread.Human("h1", "Dredging?"))
	})
	t.Run("a report that is in the way", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, uploads()).without("ask_clarification")
		d.files[outputsDir+"/report.md"] = "mine"
		d.ask(thread.Human("h1", "Dredging?"))
		require.Equal(t, "mine", d.files[outputsDir+"/report.md"])
		require.Contains(t, d.files[outputsDir+"/report-second-try.md"], "Dredging costs")
	})
}

func TestDemoReadsWhatAPersonWrote(t *testing.T) {
	t.Parallel()
	wrapped := thread.Human("", "<current_uploads>\n- a.md\n</current_uploads>\n\n--- BEGIN USER INPUT ---\nWhat now?\n--- END USER INPUT ---")
	require.Equal(t, "What now?", humanText(&wrapped))
	hidden := thread.Human("", "<system-reminder>be short</system-reminder>")
	hidden.SetKwarg(thread.KeyHidden, true)
	require.Empty(t, humanText(&hidden))
	response := answered("yes")
	require.Equal(t, "yes", humanText(&response))
	delete(response.AdditionalKwargs, thread.KeyHumanInputResponse)
	require.Equal(t, "yes", humanText(&response))

	// Reminders of the framework do not become the question or the answer.
	d := newDesk(t, uploads())
	d.history = append(d.history, hidden)
	d.ask(thread.Human("h1", "Dredging?"))
	d.history = append(d.history, hidden)
	d.ask(answered("for experts"))
	require.Contains(t, d.files[outputsDir+"/report.md"], "# Report: Dredging?")
	require.Contains(t, d.files[outputsDir+"/report.md"], "- Answered: for experts")
}

// A question that was closed by Stop is not answered by the next message.
func TestDemoAfterAStop(t *testing.T) {
	t.Parallel()
	d := newDesk(t, uploads())
	d.ask(thread.Human("h1", "Dredging?"))
	last := &d.history[len(d.history)-1]
	last.Status, last.Content = thread.ToolError, thread.Text("Error: the run was stopped")
	d.ask(thread.Human("h2", "Sheep?"))
	require.Contains(t, d.files[outputsDir+"/report.md"], "# Report: Sheep?")

	// Nothing new to do.
	h := hear(d.model, Request{Messages: d.history, Tools: d.tools})
	require.NoError(t, h.err)
	require.Zero(t, h.resp.Message.CallCount())
}

func TestDemoIsDeterministicAndStreams(t *testing.T) {
	t.Parallel()
	req := question("Dredging in Emden?")
	req.Scope = "r-1"
	a, b := hear(NewDemo(Options{Delay: -1}), req), hear(NewDemo(Options{Delay: -1}), req)
	require.NoError(t, a.err)
	require.Equal(t, a, b)
	require.Greater(t, len(a.deltas), 20, "word by word")
	require.Equal(t, "call_r-1_0", a.resp.Message.ToolCalls[0].ID)
	require.JSONEq(t, string(a.resp.Message.ToolCalls[0].Args), a.calls()[0].Args)
	pieces := 0
	for _, d := range a.deltas {
		pieces += len(d.ToolCalls)
	}
	require.Greater(t, pieces, 10, "arguments come in pieces too")
	require.Positive(t, a.resp.Usage.InputTokens)
	require.Equal(t, "tool_calls", a.resp.FinishReason)
	require.Equal(t, "demo", a.resp.Message.ResponseMetadata["model_provider"])
}

func TestDemoStops(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	_, err := NewDemo(Options{Delay: time.Hour}).Chat(ctx, question("x"), func(Delta) error { cancel(stop); return nil })
	require.ErrorIs(t, err, stop)
	_, err = NewDemo(Options{}).Chat(ctx, question("x"), nil)
	require.ErrorIs(t, err, stop)
	fenced := errors.New("fenced")
	_, err = NewDemo(Options{Delay: -1}).Chat(context.Background(), question("x"), func(Delta) error { return fenced })
	require.ErrorIs(t, err, fenced)
}

func TestDemoQuotesMarkup(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"log.md": "<tool_call>{\"name\":\"ls\"} dredging\n<think>dredging</think>\n"}).without("ask_clarification")
	final := d.ask(thread.Human("h1", "dredging"))
	require.Contains(t, final.Content.String(), "<tool_call>")
}

func TestTellingWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"dredging", "harbour", "emden", "cost"}, tellingWords("What does the dredging in the harbour of Emden cost?", 4))
	require.Equal(t, []string{"港口", "口疏", "疏浚"}, tellingWords("港口疏浚", 9))
	require.Empty(t, tellingWords("what is it?", 3))
}
