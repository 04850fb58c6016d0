package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func digestOf(spec ToolSpec, args string) thread.CallDigest {
	plan := &Plan{Tools: []ToolSpec{spec}}
	m := thread.Message{Role: thread.RoleAI, ToolCalls: []thread.ToolCall{{ID: "c1", Name: spec.Name, Args: json.RawMessage(args)}}}
	return plan.DigestOf(&m, 1).Calls[0]
}

func TestTheDigestHasTheVerdictOnACommand(t *testing.T) {
	t.Parallel()
	shell := ToolSpec{Name: "bash", Shell: "command"}
	for _, tc := range []struct {
		name string
		spec ToolSpec
		args string
		want *thread.Verdict
	}{
		{"harmless", shell, `{"command":"ls"}`, nil},
		{"dangerous", shell, `{"command":"rm -rf /"}`, &thread.Verdict{Block: true, Reason: "deleting a root directory"}},
		{"medium", shell, `{"command":"pip install x"}`, &thread.Verdict{Reason: "installs packages"}},
		{"dangerous behind what the digest keeps", shell, `{"command":"echo ` + strings.Repeat("x", 2000) + `; rm -rf /"}`, &thread.Verdict{Block: true, Reason: "deleting a root directory"}},
		{"no command", shell, `{}`, &thread.Verdict{Block: true, Reason: "empty command"}},
		{"null", shell, `{"command":null}`, &thread.Verdict{Block: true, Reason: "empty command"}},
		{"no text", shell, `{"command":["ls"]}`, &thread.Verdict{Block: true, Reason: "empty command"}},
		{"NUL", shell, `{"command":"ls\u0000"}`, &thread.Verdict{Block: true, Reason: "null byte detected"}},
		{"encoded twice", shell, `"{\"command\":\"rm -rf /\"}"`, &thread.Verdict{Block: true, Reason: "deleting a root directory"}},
		{"10.7-9 another tool", ToolSpec{Name: "grep"}, `{"command":"rm -rf /"}`, nil},
	} {
		require.Equal(t, tc.want, digestOf(tc.spec, tc.args).Verdict, tc.name)
	}
}

func TestTheDigestHasTheFileThatWouldBeChanged(t *testing.T) {
	t.Parallel()
	writes := ToolSpec{Name: "write_file", Writes: "path"}
	for args, want := range map[string]string{
		`{"path":"a//./b"}`:                        "/mnt/user-data/workspace/a/b",
		`{"path":"/mnt/user-data/outputs/./a//b"}`: "/mnt/user-data/outputs/a/b",
		`{"path":5}`:                               "/mnt/user-data/workspace/5",
		`{"path":"/mnt/user-data/workspace/` + strings.Repeat("./", 3000) + `f"}`: "/mnt/user-data/workspace/f",
		`{"path":""}`:   "",
		`{"path":null}`: "",
		`{}`:            "",
		`[]`:            "",
		`{"path":"` + strings.Repeat("x", 5000) + `"}`: "",
	} {
		require.Equal(t, want, digestOf(writes, args).Target, args)
	}
	require.Empty(t, digestOf(ToolSpec{Name: "read_file"}, `{"path":"a"}`).Target)
}
