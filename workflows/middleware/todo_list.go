package middleware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// ToolWriteTodos is the tool by which a model keeps its plan.
const ToolWriteTodos = "write_todos"

// TodoList keeps the plan of a run in plan mode before the model's eyes (spec
// 4.19): it is shown again when a compaction has taken it out of view, and a
// model that gives its answer with items open is asked twice at most. A hard
// stop (loop, budget, safety, turn limit) is final: it stands behind this
// middleware and ends the walk, so a stopped run is not called back.
type TodoList struct {
	Base
	state todoState
}

type todoState struct {
	Asked int  `json:"asked,omitempty"`
	Due   bool `json:"due,omitempty"`
}

const (
	nameTodoReminder           = "todo_reminder"
	nameTodoCompletionReminder = "todo_completion_reminder"
	mostTodoReminders          = 2
	todosTogether              = "Error: write_todos replaces the whole plan, so it must be called once in a message, not several times together. Nothing was changed; call it once with the complete list."
)

// Name is TodoList.
func (*TodoList) Name() string { return NameTodoList }

// BeforeRun gives each run its own reminders.
func (t *TodoList) BeforeRun(workflow.Context, *Run) (Update, error) {
	t.state = todoState{}
	return Update{}, nil
}

// BeforeModel shows a plan again that is out of view.
func (*TodoList) BeforeModel(_ workflow.Context, run *Run) (Update, error) {
	if len(run.State.Todos) == 0 || slices.ContainsFunc(run.Messages, showsPlan) {
		return Update{}, nil
	}
	m := thread.Message{Role: thread.RoleHuman, Name: nameTodoReminder, Content: thread.Text(
		"<system_reminder>\nYour plan, which has gone out of view:\n" + planLines(run.State.Todos, true) + "\nGo on with it, and keep it up to date with write_todos.\n</system_reminder>")}
	m.SetKwarg(thread.KeyHidden, true)
	return Update{Messages: []thread.Message{m}}, nil
}

func showsPlan(d thread.Digest) bool {
	return d.Name == nameTodoReminder ||
		slices.ContainsFunc(d.Calls, func(c thread.CallDigest) bool { return c.Name == ToolWriteTodos })
}

// EditRequest reminds a model that wanted to end with items open.
func (t *TodoList) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if !t.state.Due {
		return nil
	}
	t.state.Due = false
	request.Append(nameTodoCompletionReminder, "<system_reminder>\nThese items of your plan are not completed:\n"+planLines(run.State.Todos, false)+
		"\nFinish them, or mark with write_todos what is done or not needed any more, then give your answer.\n</system_reminder>")
	return nil
}

// AfterModel asks a model back that gives its answer with items open.
func (t *TodoList) AfterModel(_ workflow.Context, run *Run, reply *ModelReply) (Update, error) {
	m := reply.Message
	open := slices.ContainsFunc(run.State.Todos, func(i thread.Todo) bool { return i.Status != thread.TodoCompleted })
	final := len(m.Calls) == 0 && reply.FinishReason != "tool_calls" && reply.FinishReason != "function_call"
	if !open || !final || m.Empty || t.state.Asked >= mostTodoReminders {
		return Update{}, nil
	}
	t.state.Asked++
	t.state.Due = true
	return Update{Goto: step.GotoModel}, nil
}

// AroundTool refuses two plans in one message: which one is meant?
func (*TodoList) AroundTool(ctx workflow.Context, _ *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if call.Name == ToolWriteTodos && call.Alike > 1 {
		return next(ctx, call, &step.Reply{Error: true, Text: todosTogether})
	}
	return next(ctx, call, nil)
}

// planLines lists the items, or the open ones only. A plan is the model's own
// text, and it may have copied anything into it.
func planLines(todos []thread.Todo, all bool) string {
	var lines []string
	for _, i := range todos {
		if status := i.Status; all || status != thread.TodoCompleted {
			lines = append(lines, fmt.Sprintf("- [%s] %s", status, agent.Neutralize(i.Content)))
		}
	}
	return strings.Join(lines, "\n")
}

// Save keeps how often it was asked.
func (t *TodoList) Save(workflow.Context) (json.RawMessage, error) {
	if t.state == (todoState{}) {
		return nil, nil
	}
	return json.Marshal(t.state)
}

// Restore takes it back.
func (t *TodoList) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &t.state)
}
