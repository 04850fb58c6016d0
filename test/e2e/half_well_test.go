package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// What went well only by half is said on the command line: an option that is
// misspelt, a command that ended with a code.
func TestRunTellsWhatWentHalfWell(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(
		testkit.ToolCalls(testkit.Call{ID: "b", Name: "bash", Args: map[string]any{"description": "try", "command": "exit 3"}}),
		testkit.Text("It did not work."),
	))
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m) + `tools:
- {name: bash, group: bash, use: "sandbox:bash"}
- {name: web_search, group: web, use: "searxng:web_search", baseurl: "http://127.0.0.1:1"}
`})
	require.Contains(t, p.Output(), "baseurl is no option of searxng:web_search; did you mean base_url?")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes"), 0o600))
	_, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL, "Try it.", "notes.txt"}, testkit.CLIOptions{Dir: dir, Timeout: patience})
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `(?m)^! bash .*exit 3$`, stderr)
	first := m.Requests()[0]
	told := first.Messages[len(first.Messages)-1].Text()
	require.Contains(t, told, "/mnt/user-data/uploads/notes.txt")
	require.NotContains(t, told, "grep", "the run has no such tool")
}
