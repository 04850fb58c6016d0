package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const firstQuestion = "What do these files say about durability? Write a report."

// projectFiles are real files: the README and the documents.
func projectFiles(t *testing.T) (root string, files []string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	files = []string{"README.md"}
	for _, d := range docs {
		rel, err := filepath.Rel(root, d)
		require.NoError(t, err)
		files = append(files, rel)
	}
	return root, files
}

func TestFirstRunWithNoKey(t *testing.T) {
	t.Parallel()
	root, files := projectFiles(t)
	data := t.TempDir()
	args := append([]string{"run", "--data-dir", data, "-o", "json", firstQuestion}, files...)
	stdout, stderr, code := testkit.RunCLI(t, args, testkit.CLIOptions{Dir: root, Stdin: strings.NewReader("1\n"), Timeout: patience})
	require.Equal(t, 0, code, stderr)
	var out struct {
		ThreadID string `json:"thread_id"`
		RunID    string `json:"run_id"`
		Status   string `json:"status"`
		Answer   string `json:"answer"`
		Files    []struct {
			Path string `json:"path"`
			Text string `json:"text"`
		} `json:"files"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out), stdout)
	require.Equal(t, "success", out.Status)
	require.NotEmpty(t, out.Answer)
	require.Len(t, out.Files, 1)
	require.Equal(t, "/mnt/user-data/outputs/report.md", out.Files[0].Path)
	report := out.Files[0].Text
	require.Contains(t, report, "durability.md", "the report names its sources")
	quoted := 0
	for _, file := range files {
		for _, line := range readLines(t, filepath.Join(root, file)) {
			if len(line) > 30 && strings.Contains(report, "> "+line) {
				quoted++
			}
		}
	}
	require.GreaterOrEqual(t, quoted, 3, "the report quotes the files:\n%s", report)
}

func TestRunWaitsForAPersonAndCanBeAnsweredLater(t *testing.T) {
	t.Parallel()
	inBothShapes(t, runWaitsForAPersonAndCanBeAnsweredLater)
}

func runWaitsForAPersonAndCanBeAnsweredLater(t *testing.T, start func(string) *system) {
	t.Helper()
	root, files := projectFiles(t)
	p := start("")
	args := append([]string{"run", "--server", p.URL(), "-o", "json", firstQuestion}, files...)
	stdout, stderr, code := testkit.RunCLI(t, args, testkit.CLIOptions{Dir: root})
	require.Equal(t, 4, code, "standard input is at its end: %s", stderr)
	var waiting struct {
		ThreadID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &waiting), stdout)
	stdout, stderr, code = testkit.RunCLI(t, []string{"run", "--server", p.URL(), "--thread", waiting.ThreadID, "--attach"},
		testkit.CLIOptions{Dir: root, Stdin: strings.NewReader("2\n")})
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "durability")
}

func TestRunWithAnOpenAICompatibleModel(t *testing.T) {
	t.Parallel()
	inBothShapes(t, runWithAnOpenAICompatibleModel)
}

func runWithAnOpenAICompatibleModel(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	m.Respond(onceAnswered(
		testkit.ToolCalls(testkit.Call{ID: "q", Name: "ask_clarification", Args: map[string]any{
			"question": "How long?", "clarification_type": "approach_choice", "options": []string{"short", "long"},
		}}),
		testkit.ToolCalls(
			testkit.Call{ID: "r", Name: "read_file", Args: map[string]any{"description": "read", "path": "/mnt/user-data/uploads/README.md"}},
			testkit.Call{ID: "w", Name: "write_file", Args: map[string]any{"description": "write", "path": "/mnt/user-data/outputs/report.md", "content": "# Report\n\n> durable\n"}},
		),
		testkit.ToolCalls(testkit.Call{ID: "p", Name: "present_files", Args: map[string]any{"filepaths": []string{"/mnt/user-data/outputs/report.md"}}}),
		testkit.Text("Here is the report.", testkit.WithUsage(100, 10)),
	))
	p := start(testkit.ConfigFor(m))
	root, _ := projectFiles(t)
	stdout, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL(), "-o", "json", "What?", "README.md"},
		testkit.CLIOptions{Dir: root, Stdin: strings.NewReader("short\n"), Timeout: 30 * time.Second})
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "Here is the report.")
	require.Contains(t, stdout, "durable")
	last := m.Requests()[len(m.Requests())-1]
	result, ok := last.ToolResult("r")
	require.True(t, ok)
	require.Contains(t, result, "DeerFlow", "the tool read the real file")
	require.Equal(t, "Bearer kit-key", last.Header.Get("Authorization"))
}
