package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

func asking(id, text string, options ...string) fakeserver.Run {
	card := thread.Card{RequestID: id, Question: text, InputMode: thread.InputFreeText}
	for _, o := range options {
		card.Options = append(card.Options, thread.Option{ID: o, Label: o, Value: o})
	}
	return fakeserver.Run{Questions: []thread.Interrupt{{ID: id, Value: card}}}
}

func TestThreadsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.APIKey = "k"
	server.Known, server.Titles = []string{"one-1", "two-2"}, map[string]string{"one-1": "First"}
	server.Script = []fakeserver.Run{asking("q1", "Which?", "red", "blue"), asking("q2", "Sure?"), answering("Blue it is."), answering("More."), {}}
	s := newShell(t)
	s.env["DEERFLOW_SERVER"], s.env["DEERFLOW_API_KEY"] = server.URL, "k"
	do := func(want int, args ...string) string {
		t.Helper()
		require.Equal(t, want, s.do(append([]string{"threads"}, args...)...), "%v: %s", args, &s.errOut)
		return s.out.String()
	}
	require.Contains(t, do(0, "list"), "one-1     done")
	do(0, "reply", "one", "start", "--no-wait")
	require.Contains(t, do(0, "list", "--status", "waiting", "-o", "jsonl"), `"question":"Which?"`)
	require.Contains(t, do(0, "show", "one"), "2. blue")
	do(4, "watch", "one")
	require.Contains(t, s.errOut.String(), "? Which?")

	// Standard input is the reply, so the next question cannot be asked.
	s.In = strings.NewReader("2\n")
	do(4, "reply", "one", "-")
	require.Contains(t, server.Bodies()[1], `"resume":{"q1":"blue"}`)
	require.Contains(t, s.errOut.String(), "? Sure?")
	s.In = strings.NewReader("")
	require.Equal(t, "Blue it is.\n", do(0, "reply", "one", "yes"))
	require.Equal(t, "Blue it is.\n", do(0, "watch", "one-1"))
	var result struct{ Answer string }
	require.NoError(t, json.Unmarshal([]byte(do(0, "reply", "one", "and?", "-o", "json", "-q")), &result))
	require.Equal(t, "More.", result.Answer)
	require.Contains(t, server.Bodies()[3], `"content":"and?"`)

	file := filepath.Join(t.TempDir(), "t.md")
	require.Empty(t, do(0, "export", "one", "-O", file))
	require.FileExists(t, file)
	do(2, "delete", "one")
	do(0, "delete", "one", "--yes")
	require.Equal(t, []string{"one-1"}, server.Deleted())
}

func TestExitCodesOfThreads(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.Known = []string{"a1", "a2"}
	s := newShell(t)
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{10, "threads list", "start one with 'deerflow dev --data-dir "},
		{10, "threads watch --server http://127.0.0.1:1 a1", "no DeerFlow server at http://127.0.0.1:1"},
		{11, "threads show --server URL b", "there is no thread b"},
		{11, "threads watch --server URL b", "there is no thread b"},
		{11, "threads reply --server URL b hello", "there is no thread b"},
		{11, "threads cancel --server URL b", "there is no thread b"},
		{11, "threads export --server URL b", "there is no thread b"},
		{11, "threads delete --server URL b --yes", "there is no thread b"},
		{2, "threads show --server URL a", "2 threads begin with a: a1, a2"},
		{2, "threads show", "accepts 1 arg(s), received 0"},
		{2, "threads reply --server URL a1", "accepts 2 arg(s), received 1"},
		{2, "threads reply --server URL a1 - --no-wait", "the text is empty"},
		{2, "threads list --server URL --status asleep", "use waiting, working, done or failed"},
		{2, "threads list --server URL -o xml", "use text, json or jsonl"},
		{2, "threads lst", `unknown command "lst"`},
		{1, "threads cancel --server URL a1", "nothing was cancelled"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "URL", server.URL))
		require.Equal(t, c.code, s.do(args...), "%s: %s%s", c.args, &s.errOut, &s.out)
		require.Contains(t, s.errOut.String(), c.want, c.args)
	}
	require.Equal(t, 0, s.do("threads"))
	require.Contains(t, s.out.String(), "11 that there is no such thread")
}
