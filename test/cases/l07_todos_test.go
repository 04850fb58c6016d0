package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func writeTodos(id string, items ...any) Call {
	if items == nil {
		items = []any{}
	}
	return call(id, "write_todos", map[string]any{"todos": items})
}

func todo(content, status string) map[string]any {
	return map[string]any{"content": content, "status": status}
}

// plans sends a message in plan mode and gives the plan that the thread has
// then.
func plans(t *testing.T, api *API, id, text string) []map[string]any {
	t.Helper()
	req := SayWatched(text)
	req.Context = map[string]any{"is_plan_mode": true}
	require.Equal(t, "success", do(t, api, id, req).Status)
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	if _, there := state.Values["todos"]; !there {
		return nil
	}
	var todos []map[string]any
	require.NoError(t, state.Values.Decode("todos", &todos))
	return todos
}

func offers(r *Request, tool string) bool {
	for _, spec := range r.Tools {
		if spec.Name == tool {
			return true
		}
	}
	return false
}

func TestL07Todos(t *testing.T) {
	m := NewModel(t)
	open := []any{todo("read", "completed"), todo("read", "in_progress"), todo("write", "pending")}
	m.On(LastUser("plan this")).Enqueue(ToolCalls(writeTodos("a", open...)), Text("first answer"))
	m.On(AnyMessage("twice the plan")).Enqueue(
		ToolCalls(writeTodos("b", todo("x", "pending")), writeTodos("c", todo("y", "pending"))),
		ToolCalls(ls("d", "/mnt/user-data")), Text("so be it"))
	m.On(AnyMessage("clear the plan")).Enqueue(ToolCalls(writeTodos("e")), Text("cleared"))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)

	// The plan is kept, with the same text twice. An answer with items open is
	// asked for again, twice; the third one stands.
	require.Equal(t, []map[string]any{todo("read", "completed"), todo("read", "in_progress"), todo("write", "pending")}, plans(t, api, id, "plan this"))
	reqs := m.Requests()
	require.Len(t, reqs, 4)
	require.True(t, offers(reqs[0], "write_todos"))
	for i, r := range reqs {
		lastText := r.Messages[len(r.Messages)-1].Text()
		if i >= 2 {
			require.Contains(t, lastText, "- [in_progress] read\n- [pending] write")
			require.NotContains(t, lastText, "[completed]")
		} else {
			require.NotContains(t, lastText, "not completed")
		}
	}
	for _, x := range messages(t, api, id) {
		require.NotContains(t, x.Text(), "not completed", "reminders are not kept")
	}

	// Two plans in one message change nothing.
	require.Len(t, plans(t, api, id, "twice the plan"), 3)
	for _, x := range messages(t, api, id) {
		if x.ToolCallID == "b" || x.ToolCallID == "c" {
			require.Equal(t, "error", x.Status)
			require.Contains(t, x.Text(), "must be called once")
		}
	}

	// Outside plan mode the plan stays, and nothing speaks of it.
	require.Equal(t, "success", run(t, api, id, "something else").Status)
	other := m.RequestsTo(LastUser("something else"))
	require.Len(t, other, 1)
	require.False(t, offers(other[0], "write_todos"))

	require.Empty(t, plans(t, api, id, "clear the plan"), "an empty list clears")
}
