package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// TestThreadsFromTheCommandLine goes through the life of a thread with nothing
// but commands.
func TestThreadsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	gate := testkit.NewGate()
	m := testkit.NewModel(t)
	m.Enqueue(
		testkit.ToolCalls(testkit.Call{ID: "l", Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data/workspace"}}),
		testkit.ToolCalls(testkit.Call{ID: "q", Name: "ask_clarification", Args: map[string]any{
			"question": "How long?", "clarification_type": "approach_choice", "options": []string{"short", "long"},
		}}),
		testkit.Text("A long answer."),
		testkit.Text("one two", testkit.WithChunks(2), testkit.At(1, testkit.Hold(gate))),
	)
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	dir := t.TempDir()
	do := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		args = append([]string{"threads"}, args...)
		stdout, stderr, code := testkit.RunCLI(t, append(args, "--data-dir", p.DataDir), testkit.CLIOptions{Dir: dir})
		require.Equal(t, want, code, "%v\n%s\n%s", args, stdout, stderr)
		return stdout, stderr
	}
	_, stderr := do(0, "list")
	require.Contains(t, stderr, "No threads yet")

	_, stderr, code := testkit.RunCLI(t, []string{"run", "--data-dir", p.DataDir, "What is durable?"}, testkit.CLIOptions{Dir: dir})
	require.Equal(t, 4, code, stderr)
	list, _ := do(0, "list", "-o", "json", "--status", "waiting")
	var items []struct {
		ThreadID string `json:"thread_id"`
		Title    string `json:"title"`
		Question string `json:"question"`
	}
	require.NoError(t, json.Unmarshal([]byte(list), &items))
	require.Len(t, items, 1)
	require.Equal(t, "What is durable?", items[0].Title)
	require.Equal(t, "How long?", items[0].Question)
	id, short := items[0].ThreadID, items[0].ThreadID[:8]
	list, _ = do(0, "list")
	require.Contains(t, list, short+"  waiting for you")

	shown, _ := do(0, "show", short)
	for _, piece := range []string{"What is durable?", "✓ ls /mnt/user-data/workspace", "? How long?", "2. long", p.TemporalUI, "waiting for you"} {
		require.Contains(t, shown, piece)
	}
	_, stderr = do(4, "watch", short)
	require.Contains(t, stderr, "? How long?")
	answer, _ := do(0, "reply", short, "2")
	require.Equal(t, "A long answer.\n", answer)
	require.True(t, testkit.AnyMessage("my answer is: long")(m.Requests()[2]), "the number means the option")

	// The fourth run is stopped in the middle.
	do(0, "reply", short, "And now?", "--no-wait")
	<-gate.Reached()
	_, stderr = do(1, "delete", short, "--yes")
	require.Contains(t, stderr, "threads cancel "+id)
	do(0, "cancel", short)
	do(1, "cancel", short)
	file := filepath.Join(dir, "thread.md")
	do(0, "export", short, "-O", file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "A long answer.")
	require.Contains(t, string(text), "And now?")
	do(0, "delete", short, "--yes")
	do(11, "show", short)
}

func TestDoctorLooksAtARunningServer(t *testing.T) {
	t.Parallel()
	p := testkit.StartDev(t, testkit.DevOptions{})
	stdout, stderr, code := testkit.RunCLI(t, []string{"doctor", "--json", "--data-dir", p.DataDir}, testkit.CLIOptions{})
	require.Equal(t, 0, code, "%s%s", stdout, stderr)
	var report struct {
		Checks []struct{ Name, Status, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	status := map[string]string{}
	for _, c := range report.Checks {
		status[c.Name] = c.Status
	}
	for _, name := range []string{"config", "data directory", "database", "server", "temporal", "namespace", "search attributes", "workers"} {
		require.Equal(t, "ok", status[name], "%s:\n%s", name, stdout)
	}
	p.Kill9()
	stdout, stderr, code = testkit.RunCLI(t, []string{"doctor", "--data-dir", p.DataDir}, testkit.CLIOptions{})
	require.Equal(t, 0, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "warn  server")
}
