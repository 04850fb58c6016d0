package thread

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The shape that LangChain's model_dump writes, which is what clients read.
func TestMessageJSON(t *testing.T) {
	t.Parallel()
	call := ToolCall{Name: "ls", Args: json.RawMessage(`{"path":"/mnt"}`), ID: "call_1", Type: "tool_call"}
	for _, tc := range []struct {
		name    string
		message Message
		want    string
	}{
		{
			"human",
			Human("h1", "hello"),
			`{"id":"h1","type":"human","content":"hello","additional_kwargs":{},"response_metadata":{}}`,
		},
		{
			"human with blocks and kwargs",
			Message{
				ID: "h2", Role: RoleHuman, Name: "user-input", AdditionalKwargs: map[string]any{KeyHidden: true, KeyRunID: "r1"},
				Content: Blocks(Block{Type: "text", Text: "see"}, Block{Type: "image_url", Raw: json.RawMessage(`{"type":"image_url","image_url":{"url":"u"}}`)}),
			},
			`{"id":"h2","type":"human","name":"user-input","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}],` +
				`"additional_kwargs":{"hide_from_ui":true,"run_id":"r1"},"response_metadata":{}}`,
		},
		{
			"system",
			Message{ID: "s1", Role: RoleSystem, Content: Text("be kind")},
			`{"id":"s1","type":"system","content":"be kind","additional_kwargs":{},"response_metadata":{}}`,
		},
		{
			"ai with calls",
			Message{
				ID: "r1-1", Role: RoleAI, ToolCalls: []ToolCall{call, {Name: "pwd", ID: "call_2"}},
				InvalidToolCalls: []InvalidToolCall{{Name: "bash", Args: `{"command":"ec`, ID: "call_3", Error: "the text ends in the middle"}},
				Usage:            &Usage{InputTokens: 7, OutputTokens: 3, TotalTokens: 10, InputTokenDetails: map[string]int{"cache_read": 5}},
				ResponseMetadata: map[string]any{"finish_reason": "tool_calls", "model_name": "gpt-5"},
			},
			`{"id":"r1-1","type":"ai","content":"","additional_kwargs":{},"response_metadata":{"finish_reason":"tool_calls","model_name":"gpt-5"},` +
				`"tool_calls":[{"name":"ls","args":{"path":"/mnt"},"id":"call_1","type":"tool_call"},{"name":"pwd","args":{},"id":"call_2","type":"tool_call"}],` +
				`"invalid_tool_calls":[{"name":"bash","args":"{\"command\":\"ec","id":"call_3","error":"the text ends in the middle","type":"invalid_tool_call"}],` +
				`"usage_metadata":{"input_tokens":7,"output_tokens":3,"total_tokens":10,"input_token_details":{"cache_read":5}}}`,
		},
		{
			"tool",
			ToolResult("r1-2", call, ToolSuccess, "a.md"),
			`{"id":"r1-2","type":"tool","name":"ls","content":"a.md","additional_kwargs":{},"response_metadata":{},"tool_call_id":"call_1","status":"success"}`,
		},
		{
			"tool with an artifact and an error",
			Message{
				ID: "clarification:c", Role: RoleTool, Name: "ask_clarification", ToolCallID: "c", Status: ToolError,
				Content: Text("Which?"), Artifact: json.RawMessage(`{"human_input":{"version":1}}`),
			},
			`{"id":"clarification:c","type":"tool","name":"ask_clarification","content":"Which?","additional_kwargs":{},"response_metadata":{},` +
				`"tool_call_id":"c","artifact":{"human_input":{"version":1}},"status":"error"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tc.message)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got))

			var back Message
			require.NoError(t, json.Unmarshal(got, &back))
			again, err := json.Marshal(back)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(again), "a stored body comes back as it went")
		})
	}
}

func TestMessageReadsNulls(t *testing.T) {
	t.Parallel()
	var m Message
	require.NoError(t, json.Unmarshal([]byte(`{"id":"a","type":"ai","name":null,"content":null,"additional_kwargs":null,"response_metadata":null,
		"tool_calls":[{"name":"ls","args":null,"id":"c"}],"usage_metadata":null}`), &m))
	m.SetKwarg(KeyRunID, "r1")
	out, err := json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","type":"ai","content":"","additional_kwargs":{"run_id":"r1"},"response_metadata":{},`+
		`"tool_calls":[{"name":"ls","args":{},"id":"c","type":"tool_call"}]}`, string(out))
}

func TestWritingAMessageDoesNotChangeIt(t *testing.T) {
	t.Parallel()
	m := Message{ID: "a", Role: RoleAI, ToolCalls: []ToolCall{{Name: "ls", ID: "c"}}}
	_, err := json.Marshal(&m)
	require.NoError(t, err)
	require.Equal(t, Message{ID: "a", Role: RoleAI, ToolCalls: []ToolCall{{Name: "ls", ID: "c"}}}, m)
}

func TestCallAtGivesRunnableCallsFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m Message
		valid, invalid := rapid.IntRange(0, 4).Draw(t, "valid"), rapid.IntRange(0, 4).Draw(t, "invalid")
		for i := range valid {
			m.ToolCalls = append(m.ToolCalls, ToolCall{Name: "ls", ID: "same", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Type: "tool_call"})
		}
		for i := range invalid {
			m.InvalidToolCalls = append(m.InvalidToolCalls, InvalidToolCall{Name: "bash", ID: "same", Error: fmt.Sprint(i)})
		}
		require.Equal(t, valid+invalid, m.CallCount())
		for i := range valid {
			call, bad, ok := m.CallAt(i)
			require.True(t, ok)
			require.Nil(t, bad)
			require.Equal(t, m.ToolCalls[i], call)
		}
		for i := range invalid {
			call, bad, ok := m.CallAt(valid + i)
			require.True(t, ok)
			require.Equal(t, &m.InvalidToolCalls[i], bad)
			require.Equal(t, ToolCall{Name: "bash", ID: "same", Args: json.RawMessage("{}"), Type: "tool_call"}, call, "broken arguments are not handed out")
		}
		for _, outside := range []int{-1, valid + invalid, valid + invalid + 7} {
			call, bad, ok := m.CallAt(outside)
			require.False(t, ok)
			require.Nil(t, bad)
			require.Zero(t, call)
		}
	})
}

func TestHiddenAndReasoning(t *testing.T) {
	t.Parallel()
	m := Human("h", "x")
	require.False(t, m.Hidden())
	require.Empty(t, m.Reasoning())
	m.SetKwarg(KeyHidden, "true")
	require.False(t, m.Hidden(), "only true itself hides")
	m.SetKwarg(KeyHidden, true)
	m.SetKwarg(KeyReasoning, "hm")
	require.True(t, m.Hidden())
	require.Equal(t, "hm", m.Reasoning())
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	counts := rapid.Custom(func(t *rapid.T) Usage {
		details := rapid.MapOfN(rapid.SampledFrom([]string{"cache_read", "cache_creation", "audio"}), rapid.IntRange(0, 99), 0, 3)
		return Usage{
			InputTokens: rapid.IntRange(0, 999).Draw(t, "in"), OutputTokens: rapid.IntRange(0, 999).Draw(t, "out"),
			TotalTokens: rapid.IntRange(0, 999).Draw(t, "total"), InputTokenDetails: details.Draw(t, "in details"), OutputTokenDetails: details.Draw(t, "out details"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := counts.Draw(t, "a"), counts.Draw(t, "b")
		before := fmt.Sprint(a, b)
		sum := a.Add(b)
		require.Equal(t, before, fmt.Sprint(a, b), "the counts that are added are not changed")
		require.Equal(t, a.InputTokens+b.InputTokens, sum.InputTokens)
		require.Equal(t, a.OutputTokens+b.OutputTokens, sum.OutputTokens)
		require.Equal(t, a.TotalTokens+b.TotalTokens, sum.TotalTokens)
		for _, key := range []string{"cache_read", "cache_creation", "audio"} {
			require.Equal(t, a.InputTokenDetails[key]+b.InputTokenDetails[key], sum.InputTokenDetails[key])
			require.Equal(t, a.OutputTokenDetails[key]+b.OutputTokenDetails[key], sum.OutputTokenDetails[key])
		}
	})
}
