package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// asks is an assistant message with calls written "id name".
func asks(calls ...string) thread.Message {
	m := thread.Message{Role: thread.RoleAI}
	for _, c := range calls {
		id, name, _ := strings.Cut(c, " ")
		m.ToolCalls = append(m.ToolCalls, thread.ToolCall{ID: id, Name: name, Args: json.RawMessage("{}"), Type: "tool_call"})
	}
	return m
}

func result(id, name, text string) thread.Message {
	return thread.Message{Role: thread.RoleTool, ToolCallID: id, Name: name, Content: thread.Text(text), Status: thread.ToolSuccess}
}

// brief writes a history in one line a message.
func brief(history []thread.Message) []string {
	var out []string
	for _, m := range history {
		switch m.Role {
		case thread.RoleAI:
			var calls []string
			for _, c := range m.ToolCalls {
				calls = append(calls, c.ID+" "+c.Name)
			}
			out = append(out, "ai "+m.Content.String()+"["+strings.Join(calls, ", ")+"]")
		case thread.RoleTool:
			text := m.Content.String()
			if strings.HasPrefix(text, "Error: ") {
				text = "error"
			}
			out = append(out, fmt.Sprintf("tool %s %s: %s", m.ToolCallID, m.Name, text))
		default:
			out = append(out, string(m.Role)+" "+m.Content.String())
		}
	}
	return out
}

func TestRepair(t *testing.T) {
	t.Parallel()
	human := func(text string) thread.Message { return thread.Human("", text) }
	made := func(at, n int) string { return madeID(fmt.Sprintf("message-%d", at), n) }
	invalid := asks()
	invalid.InvalidToolCalls = []thread.InvalidToolCall{{ID: "c", Name: "write_file", Args: `{"path":`, Error: "cut"}}
	both := invalid
	both.AdditionalKwargs = map[string]any{"tool_calls": []any{map[string]any{"id": "c", "function": map[string]any{"name": "write_file", "arguments": `{"path":`}}}}
	rawOnly := thread.Message{Role: thread.RoleAI, AdditionalKwargs: both.AdditionalKwargs}

	cases := []struct {
		name string
		in   []thread.Message
		want []string
	}{
		{
			"nothing to do",
			[]thread.Message{human("q"), asks("a ls"), result("a", "ls", "x"), {Role: thread.RoleAI, Content: thread.Text("done")}},
			[]string{"human q", "ai [a ls]", "tool a ls: x", "ai done[]"},
		},
		{
			"B01 one result is missing",
			[]thread.Message{human("q"), asks("a ls", "b ls"), result("a", "ls", "x")},
			[]string{"human q", "ai [a ls, b ls]", "tool a ls: x", "tool b ls: error"},
		},
		{
			"B01 stopped, then go on",
			[]thread.Message{human("q"), asks("a bash"), human("go on")},
			[]string{"human q", "ai [a bash]", "tool a bash: error", "human go on"},
		},
		{
			"B03 a message in between",
			[]thread.Message{human("q"), asks("a ls"), human("note"), result("a", "ls", "x")},
			[]string{"human q", "ai [a ls]", "tool a ls: x", "human note"},
		},
		{
			"B03 and in the wrong order",
			[]thread.Message{human("q"), asks("a ls", "b ls"), human("n"), result("b", "ls", "y"), result("a", "ls", "x")},
			[]string{"human q", "ai [a ls, b ls]", "tool a ls: x", "tool b ls: y", "human n"},
		},
		{
			"same id in two turns",
			[]thread.Message{asks("a ls"), result("a", "ls", "1"), asks("a ls"), result("a", "ls", "2")},
			[]string{"ai [a ls]", "tool a ls: 1", "ai [a ls]", "tool a ls: 2"},
		},
		{
			"same id, second without",
			[]thread.Message{asks("a ls"), result("a", "ls", "1"), asks("a ls")},
			[]string{"ai [a ls]", "tool a ls: 1", "ai [a ls]", "tool a ls: error"},
		},
		{
			"same id, result after the second",
			[]thread.Message{asks("a ls"), asks("a ls"), result("a", "ls", "1")},
			[]string{"ai [a ls]", "tool a ls: 1", "ai [a ls]", "tool a ls: error"},
		},
		{
			"same id twice in a message",
			[]thread.Message{asks("a ls", "a grep", "a_2 ls"), result("a", "ls", "1"), result("a", "grep", "2"), result("a_2", "ls", "3")},
			[]string{"ai [a ls, a_3 grep, a_2 ls]", "tool a ls: 1", "tool a_3 grep: 2", "tool a_2 ls: 3"},
		},
		{
			"V2 two results for a call",
			[]thread.Message{asks("a ls"), result("a", "ls", "1"), result("a", "ls", "2"), human("q")},
			[]string{"ai [a ls]", "tool a ls: 1", "human q"},
		},
		{
			"B08 orphans",
			[]thread.Message{result("gone", "ls", "x"), result("", "ls", "y"), human("q"), result("gone", "ls", "z"), asks("a ls"), result("a", "ls", "1"), result("b", "ls", "?")},
			[]string{"human q", "ai [a ls]", "tool a ls: 1"},
		},
		{
			"blank ids by place",
			[]thread.Message{asks(" ls", " ls"), result("", "", "x"), result("", "", "y")},
			[]string{"ai [" + made(0, 0) + " ls, " + made(0, 1) + " ls]", "tool " + made(0, 0) + " ls: x", "tool " + made(0, 1) + " ls: y"},
		},
		{
			"blank ids, one result too few",
			[]thread.Message{asks(" ls", " ls"), result("", "ls", "x")},
			[]string{"ai [" + made(0, 0) + " ls, " + made(0, 1) + " ls]", "tool " + made(0, 0) + " ls: error", "tool " + made(0, 1) + " ls: error"},
		},
		{
			"blank ids by name",
			[]thread.Message{asks(" ls", " grep"), result("", "grep", "x")},
			[]string{"ai [" + made(0, 0) + " ls, " + made(0, 1) + " grep]", "tool " + made(0, 0) + " ls: error", "tool " + made(0, 1) + " grep: x"},
		},
		{
			"blank ids, a result of another tool",
			[]thread.Message{asks(" ls"), result("", "grep", "x")},
			[]string{"ai [" + made(0, 0) + " ls]", "tool " + made(0, 0) + " ls: error"},
		},
		{
			"blank ids, stale result",
			[]thread.Message{result("", "ls", "old"), asks(" ls"), {Role: thread.RoleAI, Content: thread.Text("t")}, result("", "ls", "late")},
			[]string{"ai [" + made(1, 0) + " ls]", "tool " + made(1, 0) + " ls: error", "ai t[]"},
		},
		{
			"B05 no name",
			[]thread.Message{asks("a "), result("a", "", "x"), asks("b bad name!")},
			[]string{"ai [a unknown_tool]", "tool a unknown_tool: x", "ai [b bad_name_]", "tool b bad_name_: error"},
		},
		{"B04 invalid", []thread.Message{human("q"), invalid}, []string{"human q", "ai [c write_file]", "tool c write_file: error"}},
		{"B04 invalid, answered", []thread.Message{human("q"), invalid, result("c", "write_file", "no")}, []string{"human q", "ai [c write_file]", "tool c write_file: no"}},
		{"B07 invalid and raw", []thread.Message{human("q"), both}, []string{"human q", "ai [c write_file]", "tool c write_file: error"}},
		{"B07 raw alone", []thread.Message{human("q"), rawOnly, result("c", "", "x")}, []string{"human q", "ai [c write_file]", "tool c write_file: x"}},
		{"A19 empty result", []thread.Message{asks("a ls"), result("a", "ls", " \n")}, []string{"ai [a ls]", "tool a ls: (no output)"}},
		{"A20 empty answer", []thread.Message{human("q"), {Role: thread.RoleAI}, {Role: thread.RoleAI, Content: thread.Text(" ")}, human("r")}, []string{"human q", "human r"}},
		{"V13 empty question", []thread.Message{human(""), human(" ")}, []string{"human (no text)", "human (no text)"}},
		{
			"other systems' roles",
			[]thread.Message{{Role: "user", Content: thread.Text("q")}, {Role: "assistant", Content: thread.Text("a")}, {Role: "developer", Content: thread.Text("s")}, {Role: "remove"}},
			[]string{"human q", "ai a[]", "system s"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := mustJSON(t, c.in)
			once := Repair(c.in)
			require.Equal(t, c.want, brief(once))
			require.Equal(t, before, mustJSON(t, c.in), "the input is not changed")
			require.Equal(t, mustJSON(t, once), mustJSON(t, Repair(once)), "settled")
		})
	}
}

func mustJSON(t require.TestingT, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestRepairedResultsSayWhy(t *testing.T) {
	t.Parallel()
	nameless := asks("a ")
	require.Contains(t, Repair([]thread.Message{nameless})[1].Content.String(), "no tool name")
	stopped := Repair([]thread.Message{asks("a bash")})[1]
	require.Contains(t, stopped.Content.String(), "may or may not have run")
	require.Equal(t, thread.ToolError, stopped.Status)
	broken := asks("a ls")
	broken.ToolCalls[0].Args = json.RawMessage(`"text"`)
	require.Contains(t, Repair([]thread.Message{broken})[1].Content.String(), "must be a JSON object")
	twice := asks("a ls")
	twice.ToolCalls[0].Args = json.RawMessage(`"{\"path\": \"a\"}"`)
	require.JSONEq(t, `{"path":"a"}`, string(Repair([]thread.Message{twice})[0].ToolCalls[0].Args), "unwrapped once")
}

func TestRepairOfBlocks(t *testing.T) {
	t.Parallel()
	var blocks thread.Content
	require.NoError(t, json.Unmarshal([]byte(`[{"type":"text","text":" "},{"type":"image_url","image_url":"data:x"},"and this"]`), &blocks))
	repaired := Repair([]thread.Message{
		{Role: thread.RoleHuman, Content: blocks},
		asks("a ls"),
		{Role: thread.RoleTool, ToolCallID: "a", Content: blocks},
	})
	require.Len(t, repaired[0].Content.Parts(), 2, "blank text parts go")
	require.Equal(t, " \n[image_url not shown]\nand this", repaired[2].Content.String())
}
