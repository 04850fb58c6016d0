package webui

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const (
	task     = "Compare the two offers. Which one should we take?"
	question = "Offer B costs more, but support is included. What matters more to you?"
)

// story is a conversation that reads, runs a command, writes a file and then
// waits with a question. Each turn of the model takes a moment, as a real one
// does, so that the timeline has something to show.
func story() func(*testkit.Request) testkit.Reply {
	call := func(name string, args map[string]any) testkit.Call {
		args["description"] = "one step"
		return testkit.Call{Name: name, Args: args}
	}
	read := func(file string) testkit.Call {
		return call("read_file", map[string]any{"path": "/mnt/user-data/uploads/" + file})
	}
	turns := [][]testkit.Call{
		{read("offer-a.md"), read("offer-b.md")},
		{call("bash", map[string]any{"command": "grep -h EUR /mnt/user-data/uploads/*.md | sort -n"})},
		{call("write_file", map[string]any{"path": "/mnt/user-data/outputs/comparison.md", "content": "# Comparison\n\nA: 900 EUR, B: 1200 EUR with support.\n"})},
		{call("present_files", map[string]any{"filepaths": []string{"/mnt/user-data/outputs/comparison.md"}})},
		{call("ask_clarification", map[string]any{
			"question": question, "clarification_type": "approach_choice", "options": []string{"The lower price", "Support"},
		})},
	}
	var replies []testkit.Reply
	for n, calls := range turns {
		for i := range calls {
			calls[i].ID = fmt.Sprintf("call-%d-%d", n, i)
		}
		replies = append(replies, testkit.ToolCalls(calls...).Before(testkit.Pause(300*time.Millisecond)))
	}
	return func(r *testkit.Request) testkit.Reply {
		if testkit.AnyMessage("my answer is: ")(r) {
			return testkit.Text("Take offer B: support is included.")
		}
		return testkit.ByTurn(replies...)(r)
	}
}

// waiting starts the product and a thread that waits with a question.
func waiting(t *testing.T) (p *testkit.Process, threadID string) {
	t.Helper()
	m := testkit.NewModel(t)
	m.Respond(story())
	p = testkit.StartDev(t, testkit.DevOptions{Config: fmt.Sprintf(`models:
  - {name: demo, use: openai, model: kit-model, api_key: kit-key, base_url: %q}
sandbox: {use: local, allow_host_bash: true}
`, m.URL())})
	dir := t.TempDir()
	for name, text := range map[string]string{"offer-a.md": "A: 900 EUR\n", "offer-b.md": "B: 1200 EUR, with support\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, errs, code := testkit.RunCLI(t, []string{"run", "--server", p.URL, "-o", "json", task, "offer-a.md", "offer-b.md"}, testkit.CLIOptions{Dir: dir})
	require.Equal(t, 4, code, "%s%s", out, errs)
	var result struct {
		ThreadID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	return p, result.ThreadID
}

func TestTheWebUITellsTheStory(t *testing.T) {
	b := openBrowser(t)
	p, id := waiting(t)
	page := p.TemporalUI + "/namespaces/default/workflows/" + url.PathEscape("thread/"+id)

	// Every turn and tool call, in words.
	b.visit(page)
	b.reads("thread/"+id, "model demo · turn 1", "read_file: /mnt/user-data/uploads/offer-a.md",
		"bash: grep -h EUR /mnt/user-data/uploads/*.md | sort -n", "model demo · turn 2", "write_file: /mnt/user-data/outputs/comparison.md",
		"present_files: comparison.md", "ask_clarification: "+question)
	run := strings.TrimSuffix(b.location(), "/timeline")
	b.visit(run + "/timeline?sort=ascending") // to be read from top to bottom
	b.reads("Ascending", "ask_clarification: "+question)
	b.picture("temporal-web-ui.png")

	// What it is about, that it waits, for what, and what it has made.
	b.visit(run + "/user-metadata")
	b.framed(task, "Waiting for you", "model demo · turn 5", question, "The lower price", "Support", "deerflow threads reply "+id,
		"/mnt/user-data/outputs/comparison.md")
	b.picture("temporal-web-ui-details.png")

	// What one can search for.
	b.visit(run + "/search-attributes")
	b.reads(`"DeerflowStatus": "interrupted"`, `"DeerflowTitle": "`+task+`"`, `"DeerflowModel": "demo"`, `"DeerflowUser": "default"`, `"DeerflowTokens": `)
	b.visit(p.TemporalUI + "/namespaces/default/workflows?query=" + url.QueryEscape(`DeerflowStatus="interrupted"`))
	b.reads("thread/" + id)

	// The answer changes it.
	_, errs, code := testkit.RunCLI(t, []string{"threads", "reply", "--server", p.URL, id[:8], "2"}, testkit.CLIOptions{})
	require.Equal(t, 0, code, errs)
	b.visit(page)
	b.reads("model demo · turn 6")
	b.visit(run + "/user-metadata")
	b.framed(task, "Done", "Take offer B: support is included.")
}
