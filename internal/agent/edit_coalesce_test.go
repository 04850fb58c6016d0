package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestCoalesce(t *testing.T) {
	t.Parallel()
	system := func(id, text string, kwargs map[string]any) thread.Message {
		return thread.Message{ID: id, Role: thread.RoleSystem, Content: thread.Text(text), AdditionalKwargs: kwargs}
	}
	in := []thread.Message{
		thread.Human("h1", "hello"),
		system("s1", "one", map[string]any{"a": 1, "b": 1}),
		thread.Human("h2", "again"),
		system("s2", "", nil),
		{ID: "s3", Role: thread.RoleSystem, Content: thread.Blocks(text("two"), text("three")), AdditionalKwargs: map[string]any{"b": 2}},
	}
	out := applied(t, in, Edit{Op: EditCoalesce})
	require.Equal(t, []string{"s1:one\n\ntwo\nthree", "h1:hello", "h2:again"}, brief(out))
	require.Equal(t, thread.RoleSystem, out[0].Role)
	require.Equal(t, map[string]any{"a": 1, "b": 2}, out[0].AdditionalKwargs)
	require.Equal(t, map[string]any{"a": 1, "b": 1}, in[1].AdditionalKwargs, "the input is not changed")
	require.Equal(t, out, applied(t, out, Edit{Op: EditCoalesce}), "a second time changes nothing")

	none := []thread.Message{thread.Human("h1", "hello")}
	require.Equal(t, none, applied(t, none, Edit{Op: EditCoalesce}))
}
