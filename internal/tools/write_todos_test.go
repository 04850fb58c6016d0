package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestWriteTodos(t *testing.T) {
	t.Parallel()
	tool, err := writeTodos()
	require.NoError(t, err)
	for _, tc := range []struct {
		name, args string
		want       []thread.Todo
		cleared    bool
		problem    string
	}{
		{
			name: "a plan", args: `{"todos":[{"content":" find sources ","status":"in_progress"},{"content":"write"}]}`,
			want: []thread.Todo{{Content: "find sources", Status: thread.TodoInProgress}, {Content: "write", Status: thread.TodoPending}},
		},
		{name: "the same text twice", args: `{"todos":[{"content":"a","status":"completed"},{"content":"a","status":"pending"}]}`, want: []thread.Todo{{Content: "a", Status: thread.TodoCompleted}, {Content: "a", Status: thread.TodoPending}}},
		{
			name: "keys that nobody asked for", args: `{"todos":[{"id":"1","content":"a","status":"completed","activeForm":"doing a"}]}`,
			want: []thread.Todo{{Content: "a", Status: thread.TodoCompleted}},
		},
		{name: "no list", args: `{}`, problem: "todos"},
		{name: "an empty list clears", args: `{"todos":[]}`, cleared: true},
		{name: "no content", args: `{"todos":[{"content":"  "}]}`, problem: "Item 1 of the plan has no content"},
		{name: "unknown status", args: `{"todos":[{"content":"a","status":"done"}]}`, problem: "status"},
		{name: "too long", args: `{"todos":[{"content":"` + strings.Repeat("ü", maxTodoChars+1) + `"}]}`, problem: "more than 500 characters"},
		{name: "too many", args: `{"todos":[` + strings.TrimSuffix(strings.Repeat(`{"content":"a"},`, maxTodos+1), ",") + `]}`, problem: "Too many items"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := tool.Call(t.Context(), Call{Args: []byte(tc.args)})
			require.NoError(t, err)
			if tc.problem != "" {
				require.True(t, r.Error)
				require.Contains(t, r.Text, tc.problem)
				require.Nil(t, r.State.Todos, "a refused plan changes nothing")
				return
			}
			require.False(t, r.Error, r.Text)
			require.NotNil(t, r.State.Todos)
			if tc.cleared {
				require.Empty(t, *r.State.Todos)
				return
			}
			require.Equal(t, tc.want, *r.State.Todos)
		})
	}
}
