package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

func TestToolSummariesSayWhatACallIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"bash", `{"command":"ls\n  -la","description":"look"}`, "bash: ls -la"},
		{"read_file", `{"path":"/mnt/a.md"}`, "read_file: /mnt/a.md"},
		{"ask_clarification", `{"question":"Which\none?"}`, "ask_clarification: Which one?"},
		{"present_files", `{"filepaths":["/mnt/user-data/outputs/a.md","/x/b.md",3]}`, "present_files: a.md, b.md"},
		{"present_files", `{"filepaths":"a.md"}`, "present_files"},
		{"ask_clarification", `{"question":7}`, "ask_clarification"},
		{"odd", `[]`, "odd"},
		{"cut", ``, "cut"},
	} {
		call := &middleware.ToolCall{CallDigest: thread.CallDigest{Name: c.name, Args: json.RawMessage(c.args)}}
		require.Equal(t, c.want, toolSummary(call), "%s %s", c.name, c.args)
	}
	long := &middleware.ToolCall{CallDigest: thread.CallDigest{
		Name: "bash", Args: json.RawMessage(`{"command":"` + strings.Repeat("é", 300) + `"}`),
	}}
	require.LessOrEqual(t, len(toolSummary(long)), summaryBytes)
}
