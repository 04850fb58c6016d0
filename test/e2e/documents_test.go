package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// A PDF on the command line is text to the model, in both shapes of the product.
func TestRunWithAPDF(t *testing.T) {
	t.Parallel()
	inBothShapes(t, runWithAPDF)
}

func runWithAPDF(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(
		testkit.ToolCalls(testkit.Call{ID: "r", Name: "read_file", Args: map[string]any{"description": "read", "path": "/mnt/user-data/uploads/offer.md"}}),
		testkit.Text("It costs 1234 EUR."),
	))
	p := start(testkit.ConfigFor(m))
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"offer.pdf":  testkit.PDF("# The Offer\nThe wall costs 1234 EUR, without tax, if it is ordered this year."),
		"locked.doc": []byte("\xd0\xcf\x11\xe0 no document at all"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	stdout, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL(), "What does it cost?", "offer.pdf", "locked.doc"},
		testkit.CLIOptions{Dir: dir, Timeout: patience})
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "It costs 1234 EUR.")
	require.Contains(t, stderr, "uploaded offer.pdf")
	first := m.Requests()[0]
	told := first.Messages[len(first.Messages)-1].Text()
	require.Contains(t, told, "  Text: /mnt/user-data/uploads/offer.md\n  L5: The Offer\n")
	require.Contains(t, told, "/locked.doc\n  Text: none (")
	read, ok := m.Requests()[1].ToolResult("r")
	require.True(t, ok)
	require.Contains(t, read, "The wall costs 1234 EUR")
}
