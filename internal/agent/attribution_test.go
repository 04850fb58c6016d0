package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// The cases of spec 4.20 and 4.36.
func TestAttribute(t *testing.T) {
	t.Parallel()
	todo := func(content string, status thread.TodoStatus) thread.Todo {
		return thread.Todo{Content: content, Status: status}
	}
	call := func(name, args string) thread.ToolCall {
		return thread.ToolCall{ID: "c-" + name, Name: name, Args: json.RawMessage(args)}
	}
	for _, tc := range []struct {
		name   string
		text   string
		calls  []thread.ToolCall
		todos  []thread.Todo
		kind   string
		shared bool
		want   []string // kinds of the actions, with what they are about
	}{
		{name: "an answer", text: "done", kind: "final_answer"},
		{name: "nothing to see", kind: "thinking"},
		{
			name:  "two changes of the plan share the tokens",
			todos: []thread.Todo{todo("a", thread.TodoInProgress), todo("b", thread.TodoPending)},
			calls: []thread.ToolCall{call("write_todos", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]}`)},
			kind:  "tool_batch", shared: true, want: []string{"todo_complete a", "todo_start b"},
		},
		{
			name: "a plan that is cleared", todos: []thread.Todo{todo("a", thread.TodoPending)},
			calls: []thread.ToolCall{call("write_todos", `{"todos":[]}`)}, kind: "todo_update", want: []string{"todo_remove a"},
		},
		{
			name:  "an item that is said in other words stays the same item",
			todos: []thread.Todo{todo("a", thread.TodoPending), todo("b", thread.TodoPending)},
			calls: []thread.ToolCall{call("write_todos", `{"todos":[{"content":"a2","status":"pending"},{"content":"b","status":"pending"}]}`)},
			kind:  "todo_update", want: []string{"todo_update a2"},
		},
		{
			name:  "the place does not take an item that stands elsewhere now",
			todos: []thread.Todo{todo("a", thread.TodoPending), todo("b", thread.TodoPending)},
			calls: []thread.ToolCall{call("write_todos", `{"todos":[{"content":"b","status":"pending"},{"content":"c","status":"pending"}]}`)},
			kind:  "tool_batch", shared: true, want: []string{"todo_update c", "todo_remove a"},
		},
		{
			name:  "the same text twice is two items",
			todos: []thread.Todo{todo("a", thread.TodoCompleted), todo("a", thread.TodoPending)},
			calls: []thread.ToolCall{call("write_todos", `{"todos":[{"content":"a","status":"completed"},{"content":"a","status":"completed"}]}`)},
			kind:  "todo_update", want: []string{"todo_complete a"},
		},
		{
			name: "a sub-agent and a search",
			calls: []thread.ToolCall{
				call("task", `{"description":"look","subagent_type":"general-purpose"}`), call("web_search", `{"query":"go"}`),
			},
			kind: "tool_batch", shared: true, want: []string{"subagent look/general-purpose", "search web_search/go"},
		},
		{name: "one sub-agent", calls: []thread.ToolCall{call("task", `{"description":"look"}`)}, kind: "subagent_dispatch", want: []string{"subagent look/"}},
		{name: "a tool", text: "let me see", calls: []thread.ToolCall{call("ls", `{"description":"look around"}`)}, kind: "tool_batch", want: []string{"tool ls/look around"}},
		{name: "arguments of another shape", calls: []thread.ToolCall{call("web_search", `{"query":["go"]}`)}, kind: "tool_batch", want: []string{"search web_search/"}},
		{name: "a question", calls: []thread.ToolCall{call("ask_clarification", `{}`)}, kind: "tool_batch", want: []string{"clarification"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := thread.Message{Content: thread.Text(tc.text), ToolCalls: tc.calls}
			got := Attribute(&m, tc.todos)
			require.Equal(t, 1, got.Version)
			require.Equal(t, tc.kind, got.Kind)
			require.Equal(t, tc.shared, got.Shared)
			require.Len(t, got.ToolCallIDs, len(tc.calls))
			var told []string
			for _, a := range got.Actions {
				switch a.Kind {
				case "search":
					told = append(told, a.Kind+" "+a.ToolName+"/"+a.Query)
				case "subagent":
					told = append(told, a.Kind+" "+a.Description+"/"+a.SubagentType)
				case "tool":
					told = append(told, a.Kind+" "+a.ToolName+"/"+a.Description)
				case "clarification":
					told = append(told, a.Kind)
				default:
					told = append(told, a.Kind+" "+a.Content)
				}
			}
			require.Equal(t, tc.want, told)
		})
	}
}
