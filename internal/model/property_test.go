package model

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// Few values, so that ids meet, names clash and results find no call.
var (
	anyID      = rapid.SampledFrom([]string{"", " ", "a", "b", "a_2", "a_3", "call_message-1_0", " a"})
	anyName    = rapid.SampledFrom([]string{"", "  ", "ls", "grep", "write_file", "bad name", "搜索", "unknown_tool"})
	anyArgs    = rapid.SampledFrom([]string{"", "{}", `{"a":1}`, "null", `"{\"a\":1}"`, `{"a":`, `[1]`, "7", `{"a":1}{"a":1}`, ` { "a" : 1 } `})
	anyText    = rapid.SampledFrom([]string{"", " ", "text", "\n", "(no output)"})
	anyRole    = rapid.SampledFrom([]thread.Role{"human", "ai", "ai", "ai", "tool", "tool", "tool", "system", "user", "assistant", "developer", "odd"})
	anyContent = rapid.OneOf(
		rapid.Map(anyText, thread.Text),
		rapid.Custom(func(t *rapid.T) thread.Content {
			part := rapid.SampledFrom([]string{
				`{"type":"text","text":""}`, `{"type":"text","text":"part"}`, `{"type":"image_url","image_url":{"url":"data:x"}}`,
				`{"type":"image_url"}`, `{"type":"thinking","thinking":"hm"}`, `{"type":"output_text","text":" "}`, `"bare"`, `{"odd":1}`,
			})
			raw := "["
			for i, p := range rapid.SliceOfN(part, 0, 3).Draw(t, "parts") {
				if i > 0 {
					raw += ","
				}
				raw += p
			}
			var c thread.Content
			require.NoError(t, json.Unmarshal([]byte(raw+"]"), &c))
			return c
		}),
	)
	anyMessage = rapid.Custom(func(t *rapid.T) thread.Message {
		m := thread.Message{
			ID: rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(t, "id"), Role: anyRole.Draw(t, "role"),
			Content: anyContent.Draw(t, "content"), Name: anyName.Draw(t, "name"), ToolCallID: anyID.Draw(t, "call id"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls, thread.ToolCall{
				ID: anyID.Draw(t, "id"), Name: anyName.Draw(t, "name"), Args: json.RawMessage(anyArgs.Draw(t, "args")),
			})
		}
		for range rapid.IntRange(0, 1).Draw(t, "invalid") {
			m.InvalidToolCalls = append(m.InvalidToolCalls, thread.InvalidToolCall{
				ID: anyID.Draw(t, "id"), Name: anyName.Draw(t, "name"), Args: anyArgs.Draw(t, "args"), Error: anyText.Draw(t, "error"),
			})
		}
		if rapid.Bool().Draw(t, "raw calls") {
			m.SetKwarg("tool_calls", []any{map[string]any{"id": anyID.Draw(t, "id"), "function": map[string]any{
				"name": anyName.Draw(t, "name"), "arguments": anyArgs.Draw(t, "args"),
			}}})
		}
		if rapid.Bool().Draw(t, "reasoning") {
			m.SetKwarg(thread.KeyReasoning, anyText.Draw(t, "thought"))
		}
		if rapid.Bool().Draw(t, "reminder") {
			m.SetKwarg("dynamic_context_reminder", true)
		}
		return m
	})
	anyHistory = rapid.SliceOfN(anyMessage, 0, 12)
	anyTools   = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) agent.ToolSpec {
		return agent.ToolSpec{Name: anyName.Draw(t, "tool"), Parameters: json.RawMessage(rapid.SampledFrom([]string{
			"", "null", "{}", `{"type":"object"}`, `{"type":["object","null"],"properties":{"a":{}}}`, `{"anyOf":[]}`, `{"properties":7}`,
		}).Draw(t, "schema"))}
	}), 0, 4)
)

// For any history, the request is one that no provider refuses (B07).
func TestAnyHistoryMakesAValidRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		req := Request{
			System: anyText.Draw(t, "system"), Messages: anyHistory.Draw(t, "history"), Tools: anyTools.Draw(t, "tools"),
			NoTools: rapid.Bool().Draw(t, "no tools"), Thinking: rapid.Bool().Draw(t, "thinking"),
		}
		cfg := testConfig()
		cfg.Thinking = req.Thinking
		cfg.Flags.ToolOnlyContent = rapid.SampledFrom([]string{"", ToolOnlyNull, ToolOnlyEmpty, ToolOnlyOmit}).Draw(t, "tool only")
		body, err := encodeRequest(&cfg, quirks{}, &req)
		if errors.Is(err, errNothingToSend) {
			for _, m := range Repair(req.Messages) {
				require.Equal(t, thread.RoleSystem, m.Role)
			}
			return
		}
		require.NoError(t, err)
		require.Empty(t, violations(body, req.Thinking), "%s", body)
	})
}

func TestRepairIsPureAndSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := anyHistory.Draw(t, "history")
		before := spell(history)
		once := Repair(history)
		require.Equal(t, before, spell(history), "the input is not changed")
		require.Equal(t, spell(once), spell(Repair(once)))
		require.Equal(t, spell(once), spell(Repair(history)), "the same every time")
	})
}

// spell writes all of a history that Repair may touch, also arguments that are
// no JSON.
func spell(history []thread.Message) string {
	out := ""
	for _, m := range history {
		for _, c := range m.ToolCalls {
			out += "<" + c.ID + "|" + c.Name + "|" + string(c.Args) + ">"
		}
		m.ToolCalls = nil
		raw, err := json.Marshal(m)
		if err != nil {
			return err.Error()
		}
		out += string(raw) + "\n"
	}
	return out
}

// No result that belongs to a call is lost, whatever stands around it.
func TestRepairKeepsEveryResultOfACall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var history []thread.Message
		want := map[string]string{}
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			m := thread.Message{Role: thread.RoleAI}
			var results []thread.Message
			for n := range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := string(rune('a'+turn)) + string(rune('0'+n))
				m.ToolCalls = append(m.ToolCalls, thread.ToolCall{ID: id, Name: "ls", Args: json.RawMessage("{}")})
				results = append(results, result(id, "ls", "result of "+id))
				want[id] = "result of " + id
			}
			results = append(results, thread.Human("", "in between"))
			history = append(history, m)
			history = append(history, rapid.Permutation(results).Draw(t, "order")...)
		}
		got := map[string]string{}
		for _, m := range Repair(history) {
			if m.Role == thread.RoleTool {
				got[m.ToolCallID] = m.Content.String()
			}
		}
		require.Equal(t, want, got)
	})
}
