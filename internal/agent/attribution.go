package agent

import (
	"encoding/json"

	"deerflow/internal/thread"
)

// KeyAttribution holds, on an answer, what its tokens went to.
const KeyAttribution = "token_usage_attribution"

// Attribution says what the tokens of an answer went to, in the shape that
// DeerFlow's page reads (spec 4.20).
type Attribution struct {
	Version int `json:"version"` // 1
	// Kind is thinking, final_answer, todo_update, subagent_dispatch or
	// tool_batch.
	Kind        string   `json:"kind"`
	Shared      bool     `json:"shared_attribution"` // several actions share the tokens
	ToolCallIDs []string `json:"tool_call_ids"`
	Actions     []Action `json:"actions"`
}

// Action is one thing that an answer does.
type Action struct {
	// Kind is todo_start, todo_complete, todo_update, todo_remove, subagent,
	// search, present_files, clarification or tool.
	Kind         string `json:"kind"`
	Content      string `json:"content,omitempty"` // of a todo
	ToolName     string `json:"tool_name,omitempty"`
	Query        string `json:"query,omitempty"`
	Description  string `json:"description,omitempty"`
	SubagentType string `json:"subagent_type,omitempty"`
	ToolCallID   string `json:"tool_call_id,omitempty"`
}

// The kinds of answers and actions that decide by number.
const (
	actionSubagent    = "subagent"
	kindTodoUpdate    = "todo_update"
	maxActionText     = 200 // bytes
	maxActionsTold    = 50
	attributionFormat = 1
)

// Attribute tells what an answer does, given the plan as it was before.
func Attribute(m *thread.Message, todos []thread.Todo) Attribution {
	a := Attribution{Version: attributionFormat, ToolCallIDs: []string{}, Actions: []Action{}}
	for _, call := range m.ToolCalls {
		a.ToolCallIDs = append(a.ToolCallIDs, call.ID)
		a.Actions = append(a.Actions, actionsOf(call, todos)...)
	}
	a.Actions = a.Actions[:min(len(a.Actions), maxActionsTold)]
	a.Shared = len(a.Actions) > 1
	switch one := len(a.Actions) == 1; {
	case one && isTodo(a.Actions[0].Kind):
		a.Kind = kindTodoUpdate
	case one && a.Actions[0].Kind == actionSubagent:
		a.Kind = "subagent_dispatch"
	case len(a.Actions) > 0:
		a.Kind = "tool_batch"
	case m.Content.String() != "":
		a.Kind = "final_answer"
	default:
		a.Kind = "thinking"
	}
	return a
}

func isTodo(kind string) bool {
	switch kind {
	case "todo_start", "todo_complete", kindTodoUpdate, "todo_remove":
		return true
	}
	return false
}

func actionsOf(call thread.ToolCall, todos []thread.Todo) []Action {
	var args struct {
		Todos        []thread.Todo `json:"todos"`
		Query        any           `json:"query"`
		Description  any           `json:"description"`
		SubagentType any           `json:"subagent_type"`
	}
	_ = json.Unmarshal(call.Args, &args) // what cannot be read is left out
	switch call.Name {
	case "write_todos":
		return todoActions(call.ID, todos, args.Todos)
	case "task":
		return []Action{{Kind: actionSubagent, Description: words(args.Description), SubagentType: words(args.SubagentType), ToolCallID: call.ID}}
	case "web_search", "image_search":
		return []Action{{Kind: "search", ToolName: call.Name, Query: words(args.Query), ToolCallID: call.ID}}
	case "present_files":
		return []Action{{Kind: "present_files", ToolCallID: call.ID}}
	case "ask_clarification":
		return []Action{{Kind: "clarification", ToolCallID: call.ID}}
	}
	return []Action{{Kind: "tool", ToolName: thread.Prefix(call.Name, maxActionText), Description: words(args.Description), ToolCallID: call.ID}}
}

func words(value any) string {
	s, _ := value.(string)
	return thread.Prefix(s, maxActionText)
}

// todoActions compares two plans. Items are the same when their content is,
// each taken once; an item whose content changed is found by its place, unless
// the item that stood there is found elsewhere.
func todoActions(callID string, was, is []thread.Todo) []Action {
	partner := matchTodos(was, is)
	used := make([]bool, len(was))
	var actions []Action
	add := func(kind, content string) {
		actions = append(actions, Action{Kind: kind, Content: thread.Prefix(content, maxActionText), ToolCallID: callID})
	}
	for i, item := range is {
		before := thread.Todo{Status: thread.TodoPending}
		if partner[i] >= 0 {
			used[partner[i]], before = true, was[partner[i]]
		}
		switch {
		case item.Status != before.Status && item.Status == thread.TodoCompleted:
			add("todo_complete", item.Content)
		case item.Status != before.Status && item.Status == thread.TodoInProgress:
			add("todo_start", item.Content)
		case item != before:
			add(kindTodoUpdate, item.Content)
		}
	}
	for i, item := range was {
		if !used[i] {
			add("todo_remove", item.Content)
		}
	}
	if len(actions) == 0 {
		add(kindTodoUpdate, "")
	}
	return actions
}

// matchTodos gives, for each new item, the index of the old one that it was, or
// -1.
func matchTodos(was, is []thread.Todo) []int {
	partner := make([]int, len(is))
	taken := make([]bool, len(was))
	for i, item := range is {
		partner[i] = -1
		for j, old := range was {
			if !taken[j] && old.Content == item.Content {
				partner[i], taken[j] = j, true
				break
			}
		}
	}
	for i := range is {
		if partner[i] < 0 && i < len(was) && !taken[i] {
			partner[i], taken[i] = i, true
		}
	}
	return partner
}
