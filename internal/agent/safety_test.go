package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// The cases of spec 4.34 and 4.36, for reasons that an operator has named.
func TestStopForSafety(t *testing.T) {
	t.Parallel()
	rule := &SafetyRule{Reasons: []string{"unsafe_output"}}
	write := []thread.ToolCall{{ID: "w", Name: "write_file", Args: json.RawMessage(`{"path":"half.md"}`)}}
	for _, tc := range []struct {
		name   string
		text   string
		calls  []thread.ToolCall
		broken []thread.InvalidToolCall
		finish string
		rule   *SafetyRule
		want   bool
		says   string
		names  []string
	}{
		{name: "calls", text: "Writing.", calls: write, finish: "UNSAFE_output", rule: rule, want: true, says: "Writing.\n\nThe provider ended this answer for safety (finish_reason: UNSAFE_output). The tool calls it had begun (write_file) were not run.", names: []string{"write_file"}},
		{name: "a call that is cut", broken: []thread.InvalidToolCall{{ID: "w", Name: "bash"}}, finish: "unsafe_output", rule: rule, want: true, says: "The provider ended this answer for safety (finish_reason: unsafe_output). The tool calls it had begun (bash) were not run.", names: []string{"bash"}},
		{name: "nothing", finish: "unsafe_output", rule: rule, want: true, says: "The provider ended this answer for safety (finish_reason: unsafe_output).", names: []string{}},
		{name: "blanks", text: " \n", finish: "unsafe_output", rule: rule, want: true, says: " \n\n\nThe provider ended this answer for safety (finish_reason: unsafe_output).", names: []string{}},
		{name: "a text alone", text: "Half of it", finish: "unsafe_output", rule: rule, says: "Half of it"},
		{name: "another reason", text: "Done", calls: write, finish: "tool_calls", rule: rule, says: "Done"},
		{name: "no reason", text: "Done", rule: rule, says: "Done"},
		{name: "no rule", calls: write, finish: "unsafe_output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := thread.Message{Role: thread.RoleAI, Content: thread.Text(tc.text), ToolCalls: tc.calls, InvalidToolCalls: tc.broken}
			require.Equal(t, tc.want, StopForSafety(&m, tc.finish, tc.rule))
			require.Equal(t, tc.says, m.Content.String())
			if !tc.want {
				require.Equal(t, len(tc.calls), m.CallCount())
				require.Empty(t, m.AdditionalKwargs)
				return
			}
			require.Zero(t, m.CallCount())
			require.Equal(t, map[string]any{
				"detector": "configured", "reason_field": "finish_reason", "reason_value": tc.finish,
				"suppressed_tool_call_count": len(tc.names), "suppressed_tool_call_names": tc.names,
			}, m.AdditionalKwargs[KeySafety])
		})
	}
}
