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

// The histories that are drawn hold every kind of message, and of trouble with
// calls: what is never drawn is never checked.
func TestHistoriesHoldEveryKind(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range 3000 {
		noteKinds(seen, anyHistory.Example(seed))
	}
	for _, want := range []string{
		"role human", "role ai", "role tool", "role system", "role user", "role assistant", "role developer", "role odd",
		"content empty", "content text", "content blank", "content parts", "content no parts", "content picture",
		"calls none", "calls one", "calls several", "calls invalid", "calls raw only", "calls raw beside parsed",
		"id empty", "id blank", "id twice in a message", "id of an earlier message", "name empty", "name not valid",
		"arguments empty", "arguments broken", "arguments encoded twice", "arguments no object", "arguments glued",
		"result paired", "result late", "result twice", "result missing", "result without a call", "result without an id", "result empty",
		"reasoning", "reasoning beside calls", "nothing to show", "history empty", "history ends with calls",
	} {
		require.GreaterOrEqual(t, seen[want], 20, want)
	}
}

// noteKinds counts what a history holds.
func noteKinds(seen map[string]int, history []thread.Message) {
	asked, answered := map[string]int{}, map[string]int{} // by call id: where, how often
	if len(history) == 0 {
		seen["history empty"]++
	}
	for i := range history {
		m := &history[i]
		seen["role "+string(m.Role)]++
		noteContent(seen, m)
		if plainRole(m.Role) == thread.RoleTool {
			at, known := asked[m.ToolCallID]
			answered[m.ToolCallID]++
			switch {
			case blank(m.ToolCallID):
				seen["result without an id"]++
			case !known:
				seen["result without a call"]++
			case answered[m.ToolCallID] > 1:
				seen["result twice"]++
			case at == i-1:
				seen["result paired"]++
			default:
				seen["result late"]++
			}
			if blank(m.Content.String()) {
				seen["result empty"]++
			}
		}
		if plainRole(m.Role) == thread.RoleAI {
			noteCalls(seen, m, i, asked)
			if i == len(history)-1 && m.CallCount() > 0 {
				seen["history ends with calls"]++
			}
		}
	}
	for id := range asked {
		if answered[id] == 0 {
			seen["result missing"]++
		}
	}
}

func noteContent(seen map[string]int, m *thread.Message) {
	parts := m.Content.Parts()
	switch text := m.Content.String(); {
	case m.Content.IsBlocks() && len(parts) == 0:
		seen["content no parts"]++
	case m.Content.IsBlocks():
		seen["content parts"]++
		for _, p := range parts {
			if p.Type == "image_url" {
				seen["content picture"]++
			}
		}
	case text == "":
		seen["content empty"]++
	case blank(text):
		seen["content blank"]++
	default:
		seen["content text"]++
	}
}

func noteCalls(seen map[string]int, m *thread.Message, at int, asked map[string]int) {
	_, raw := m.AdditionalKwargs["tool_calls"]
	switch n := m.CallCount(); {
	case n == 0 && raw:
		seen["calls raw only"]++
	case n == 0:
		seen["calls none"]++
		if blank(m.Content.String()) {
			seen["nothing to show"]++
		}
	case raw:
		seen["calls raw beside parsed"]++
	case n == 1:
		seen["calls one"]++
	default:
		seen["calls several"]++
	}
	if len(m.InvalidToolCalls) > 0 {
		seen["calls invalid"]++
	}
	if m.Reasoning() != "" {
		seen["reasoning"]++
		if m.CallCount() > 0 {
			seen["reasoning beside calls"]++
		}
	}
	here := map[string]bool{}
	for _, c := range m.ToolCalls {
		_, before := asked[c.ID]
		switch {
		case c.ID == "":
			seen["id empty"]++
		case blank(c.ID):
			seen["id blank"]++
		case here[c.ID]:
			seen["id twice in a message"]++
		case before:
			seen["id of an earlier message"]++
		}
		here[c.ID] = true
		switch {
		case blank(c.Name):
			seen["name empty"]++
		case !validName(c.Name):
			seen["name not valid"]++
		}
		noteArguments(seen, string(c.Args))
	}
	for id := range here {
		asked[id] = at
	}
}

func noteArguments(seen map[string]int, args string) {
	switch {
	case args == "":
		seen["arguments empty"]++
	case args == `{"a":1}{"a":1}`:
		seen["arguments glued"]++
	case args[0] == '"':
		seen["arguments encoded twice"]++
	case !json.Valid([]byte(args)):
		seen["arguments broken"]++
	case !isObject([]byte(args)):
		seen["arguments no object"]++
	}
}

// For any history, the request is one that no provider refuses (B07).
func TestB07AnyHistoryMakesAValidRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyRequest)
}

// FuzzHistories lets the fuzzer choose what rapid draws.
func FuzzHistories(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		anyRequest(t)
		anyRepair(t)
	}))
}

func anyRequest(t *rapid.T) {
	req := Request{
		System: anyText.Draw(t, "system"), Messages: anyHistory.Draw(t, "history"), Tools: anyTools.Draw(t, "tools"),
		NoTools: rapid.Bool().Draw(t, "no tools"), Thinking: rapid.Bool().Draw(t, "thinking"),
	}
	cfg := testConfig()
	cfg.Thinking = req.Thinking
	cfg.ContextWindow = rapid.SampledFrom([]int{0, 4000, 16000}).Draw(t, "window")
	cfg.MaxTokens = rapid.SampledFrom([]int{0, 1000, 20000}).Draw(t, "max tokens")
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
	room := answerRoomOf(t, body)
	req.Messages = Repair(req.Messages)
	if cfg.ContextWindow > 0 && room > minAnswer {
		require.LessOrEqual(t, room+EstimateRequest(&req), cfg.ContextWindow, "V10")
	}
}

// answerRoomOf is the max_tokens of a request, 0 when there is none.
func answerRoomOf(t *rapid.T, body []byte) int {
	var asked struct {
		MaxTokens int `json:"max_tokens"`
	}
	require.NoError(t, json.Unmarshal(body, &asked))
	return asked.MaxTokens
}

func TestB07RepairIsPureAndSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyRepair)
}

func anyRepair(t *rapid.T) {
	history := anyHistory.Draw(t, "history")
	before := spell(history)
	once := Repair(history)
	require.Equal(t, before, spell(history), "the input is not changed")
	require.Equal(t, spell(once), spell(Repair(once)))
	require.Equal(t, spell(once), spell(Repair(history)), "the same every time")
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
