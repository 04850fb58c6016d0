package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func asking(finish any) Message {
	m := Message{
		ID: "r1-1", Role: RoleAI, Content: Text("let me see"),
		ToolCalls:        []ToolCall{{Name: "ls", ID: "c1", Args: json.RawMessage(`{}`)}},
		InvalidToolCalls: []InvalidToolCall{{Name: "bash", ID: "c2"}},
		AdditionalKwargs: map[string]any{"tool_calls": []any{"raw"}, "function_call": "raw", KeyReasoning: "hm"},
	}
	if finish != nil {
		m.ResponseMetadata = map[string]any{"finish_reason": finish, "model_name": "gpt-5"}
	}
	return m
}

func TestStripCallsLeavesAFinalAnswer(t *testing.T) {
	t.Parallel()
	m := asking("tool_calls")
	got := Revision{MessageID: m.ID, StripCalls: true, AppendText: "[FORCED STOP] enough"}.Apply(m)
	require.Equal(t, Message{
		ID: "r1-1", Role: RoleAI, Content: Text("let me see\n\n[FORCED STOP] enough"),
		AdditionalKwargs: map[string]any{KeyReasoning: "hm"},
		ResponseMetadata: map[string]any{"finish_reason": "stop", "model_name": "gpt-5"},
	}, got)
}

func TestOnlyToolCallsBecomesStop(t *testing.T) {
	t.Parallel()
	for _, finish := range []any{"content_filter", "length", "stop", "", 5} {
		got := Revision{StripCalls: true}.Apply(asking(finish))
		require.Equal(t, finish, got.ResponseMetadata["finish_reason"])
	}
	require.Nil(t, Revision{StripCalls: true}.Apply(asking(nil)).ResponseMetadata)
	kept := Revision{AppendText: "note"}.Apply(asking("tool_calls"))
	require.Equal(t, "tool_calls", kept.ResponseMetadata["finish_reason"], "the calls survive, so the reason does")
	require.Len(t, kept.ToolCalls, 1)
}

func TestARevisionAppendsByKindOfContent(t *testing.T) {
	t.Parallel()
	image := Block{Type: "image_url", Raw: json.RawMessage(`{"type":"image_url"}`)}
	m := Message{Content: Blocks(image)}
	got := Revision{AppendText: "note"}.Apply(m)
	require.Equal(t, []Block{image, {Type: "text", Text: "\n\nnote"}}, got.Content.Parts())
	require.Len(t, m.Content.Parts(), 1)
	require.Equal(t, "note", Revision{AppendText: "note"}.Apply(Message{}).Content.String())
}

func TestARevisionSetsKwargs(t *testing.T) {
	t.Parallel()
	got := Revision{Kwargs: map[string]any{KeyStopped: true, "a": 2}}.Apply(Message{AdditionalKwargs: map[string]any{"a": 1, "b": 1}})
	require.Equal(t, map[string]any{KeyStopped: true, "a": 2, "b": 1}, got.AdditionalKwargs)
	got = Revision{Kwargs: map[string]any{"a": 1}}.Apply(Message{})
	require.Equal(t, map[string]any{"a": 1}, got.AdditionalKwargs)
}

func TestARevisionLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := asking(rapid.SampledFrom([]any{nil, "tool_calls", "stop"}).Draw(t, "finish"))
		m.Content = anyContent().Draw(t, "content")
		r := Revision{StripCalls: rapid.Bool().Draw(t, "strip"), AppendText: rapid.String().Draw(t, "append")}
		if rapid.Bool().Draw(t, "kwargs") {
			r.Kwargs = map[string]any{KeyReasoning: "changed", "new": true}
		}
		before, err := json.Marshal(m)
		require.NoError(t, err)

		got := r.Apply(m)
		if got.AdditionalKwargs != nil && (r.StripCalls || r.Kwargs != nil) {
			got.AdditionalKwargs["mine"] = true
		}

		after, err := json.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
		if r.StripCalls {
			require.Zero(t, got.CallCount())
		}
	})
}
