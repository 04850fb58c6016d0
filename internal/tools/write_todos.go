package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

//go:embed write_todos.md
var writeTodosText string

// Bounds of a plan: it is part of the thread's state and is shown again and
// again.
const (
	maxTodos     = 50
	maxTodoChars = 500
)

type writeTodosParams struct {
	Todos []todoParam `json:"todos" jsonschema:"The whole plan, in order; it takes the place of the one before."`
}

type todoParam struct {
	Content string `json:"content" jsonschema:"What is to be done."`
	Status  string `json:"status,omitempty" jsonschema:"How far it is; pending when left out."`
}

func writeTodos() (Tool, error) {
	return definition[writeTodosParams]{
		name: "write_todos", description: writeTodosText, class: agent.ClassRead, run: runWriteTodos,
		adjust: func(s *jsonschema.Schema) {
			item := s.Properties["todos"].Items
			item.AdditionalProperties = nil // models add ids and more
			item.Properties["status"].Enum = []any{string(thread.TodoPending), string(thread.TodoInProgress), string(thread.TodoCompleted)}
		},
	}.build()
}

// runWriteTodos replaces the plan. An empty list clears it.
func runWriteTodos(_ context.Context, _ Call, p writeTodosParams) (Result, error) {
	if len(p.Todos) > maxTodos {
		return failure("Too many items: %d. A plan has at most %d; put small steps together.", len(p.Todos), maxTodos), nil
	}
	todos := make([]thread.Todo, 0, len(p.Todos))
	counts := map[thread.TodoStatus]int{}
	for i, item := range p.Todos {
		content := strings.TrimSpace(item.Content)
		if content == "" {
			return failure("Item %d of the plan has no content. Say what is to be done.", i+1), nil
		}
		if len([]rune(content)) > maxTodoChars {
			return failure("Item %d of the plan has more than %d characters. Say it shorter.", i+1, maxTodoChars), nil
		}
		status := thread.TodoStatus(item.Status)
		if status == "" {
			status = thread.TodoPending
		}
		todos = append(todos, thread.Todo{Content: content, Status: status})
		counts[status]++
	}
	r := text(fmt.Sprintf("The plan is written: %d completed, %d in progress, %d pending.",
		counts[thread.TodoCompleted], counts[thread.TodoInProgress], counts[thread.TodoPending]))
	if len(todos) == 0 {
		r = text("The plan is empty now.")
	}
	r.State = thread.StateUpdate{Todos: &todos}
	return r, nil
}
