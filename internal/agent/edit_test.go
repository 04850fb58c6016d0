package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

// brief writes messages as "id:text" for tables.
func brief(messages []thread.Message) []string {
	out := make([]string, 0, len(messages))
	for _, m := range messages {
		out = append(out, m.ID+":"+m.Content.String())
	}
	return out
}

// applied are the messages as edits that need no source leave them.
func applied(t require.TestingT, messages []thread.Message, edits ...Edit) []thread.Message {
	out, err := ApplyEdits(messages, edits, Sources{})
	require.NoError(t, err)
	return out
}

func TestApplyEdits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		edits []Edit
		want  []string
	}{
		{name: "none", want: []string{"a:one", "b:two", "c:three"}},
		{name: "append", edits: []Edit{{Op: EditAppend, Text: "x"}}, want: []string{"a:one", "b:two", "c:three", "edit-0:x"}},
		{name: "before", edits: []Edit{{Op: EditBefore, ID: "b", Text: "x"}}, want: []string{"a:one", "edit-0:x", "b:two", "c:three"}},
		{name: "before the first", edits: []Edit{{Op: EditBefore, ID: "a", Text: "x"}}, want: []string{"edit-0:x", "a:one", "b:two", "c:three"}},
		{name: "after", edits: []Edit{{Op: EditAfter, ID: "b", Text: "x"}}, want: []string{"a:one", "b:two", "edit-0:x", "c:three"}},
		{name: "after the last", edits: []Edit{{Op: EditAfter, ID: "c", Text: "x"}}, want: []string{"a:one", "b:two", "c:three", "edit-0:x"}},
		{name: "drop", edits: []Edit{{Op: EditDrop, ID: "b"}}, want: []string{"a:one", "c:three"}},
		{name: "drop all", edits: []Edit{{Op: EditDrop, ID: "c"}, {Op: EditDrop, ID: "a"}, {Op: EditDrop, ID: "b"}}, want: []string{}},
		{name: "wrap", edits: []Edit{{Op: EditWrap, ID: "b", Text: "<", Tail: ">"}}, want: []string{"a:one", "b:<two>", "c:three"}},
		{name: "cut", edits: []Edit{{Op: EditCut, ID: "c", Keep: 2, Text: "..."}}, want: []string{"a:one", "b:two", "c:th..."}},
		{name: "cut what is short enough", edits: []Edit{{Op: EditCut, ID: "c", Keep: 5, Text: "..."}}, want: []string{"a:one", "b:two", "c:three"}},
		{name: "cut to nothing", edits: []Edit{{Op: EditCut, ID: "c", Keep: -1, Text: "gone"}}, want: []string{"a:one", "b:two", "c:gone"}},
		{name: "unknown id", edits: []Edit{{Op: EditDrop, ID: "z"}, {Op: EditAfter, ID: "z", Text: "x"}}, want: []string{"a:one", "b:two", "c:three"}},
		{name: "unknown operation", edits: []Edit{{Op: "explode", ID: "b"}}, want: []string{"a:one", "b:two", "c:three"}},
		{
			name:  "in order, each on what the ones before left",
			edits: []Edit{{Op: EditAfter, ID: "a", Text: "x"}, {Op: EditAfter, ID: "a", Text: "y"}, {Op: EditWrap, ID: "edit-0", Text: "(", Tail: ")"}, {Op: EditDrop, ID: "b"}, {Op: EditAfter, ID: "b", Text: "lost"}},
			want:  []string{"a:one", "edit-1:y", "edit-0:(x)", "c:three"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := []thread.Message{thread.Human("a", "one"), thread.Human("b", "two"), thread.Human("c", "three")}
			require.Equal(t, tc.want, brief(applied(t, in, tc.edits...)))
			require.Equal(t, []string{"a:one", "b:two", "c:three"}, brief(in), "the input is not changed")
		})
	}
}

func TestANewMessageOfAnEdit(t *testing.T) {
	t.Parallel()
	got := applied(t, nil, []Edit{
		{Op: EditAppend, Role: thread.RoleHuman, Name: "loop_warning", Text: "stop that"},
		{Op: EditAppend, Role: thread.RoleTool, Name: "bash", Call: "c1", Text: "Error: lost"},
	}...)
	require.Equal(t, []thread.Message{
		{ID: "edit-0", Role: thread.RoleHuman, Name: "loop_warning", Content: thread.Text("stop that"), AdditionalKwargs: map[string]any{thread.KeyHidden: true}},
		{
			ID: "edit-1", Role: thread.RoleTool, Name: "bash", ToolCallID: "c1", Status: thread.ToolError, Content: thread.Text("Error: lost"),
			AdditionalKwargs: map[string]any{thread.KeyHidden: true},
		},
	}, got)
}

func TestEditsOfTextLeaveImagesAndThoughts(t *testing.T) {
	t.Parallel()
	thought := thread.Block{Type: "thinking", Raw: json.RawMessage(`{"type":"thinking"}`)}
	image := thread.Block{Type: "image_url", Raw: json.RawMessage(`{"type":"image_url"}`)}
	text := func(s string) thread.Block { return thread.Block{Type: "text", Text: s} }
	for _, tc := range []struct {
		name     string
		edit     Edit
		in, want []thread.Block
	}{
		{"wrap", Edit{Op: EditWrap, Text: "<", Tail: ">"}, []thread.Block{thought, text("a"), image, text("b")}, []thread.Block{thought, text("<a\nb>"), image}},
		{"wrap without text", Edit{Op: EditWrap, Text: "<", Tail: ">"}, []thread.Block{image}, []thread.Block{image, text("<>")}},
		{"wrap with nothing", Edit{Op: EditWrap}, []thread.Block{image}, []thread.Block{image}},
		{"cut", Edit{Op: EditCut, Keep: 1, Text: "..."}, []thread.Block{image, text("abc")}, []thread.Block{image, text("a...")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := []thread.Message{{ID: "m", Role: thread.RoleHuman, Content: thread.Blocks(tc.in...)}}
			tc.edit.ID = "m"
			require.Equal(t, tc.want, applied(t, in, tc.edit)[0].Content.Parts())
			require.Equal(t, tc.in, in[0].Content.Parts(), "the input is not changed")
		})
	}
}

func TestApplyEditsHoldsForAnyEdits(t *testing.T) {
	t.Parallel()
	ids := []string{"m0", "m1", "m2", "m3", "edit-0", "edit-1", "none", ""}
	edit := rapid.Custom(func(t *rapid.T) Edit {
		return Edit{
			Op:   rapid.SampledFrom([]EditOp{EditAppend, EditBefore, EditAfter, EditDrop, EditWrap, EditCut, "other"}).Draw(t, "op"),
			ID:   rapid.SampledFrom(ids).Draw(t, "id"),
			Role: rapid.SampledFrom([]thread.Role{thread.RoleHuman, thread.RoleTool, ""}).Draw(t, "role"),
			Text: rapid.StringN(0, 3, -1).Draw(t, "text"), Tail: rapid.StringN(0, 3, -1).Draw(t, "tail"),
			Keep: rapid.IntRange(-5, 20).Draw(t, "keep"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var in []thread.Message
		for i := range rapid.IntRange(0, 4).Draw(t, "messages") {
			in = append(in, thread.Human(fmt.Sprintf("m%d", i), rapid.String().Draw(t, "content")))
		}
		edits := rapid.SliceOfN(edit, 0, 8).Draw(t, "edits")
		before := brief(in)

		out := applied(t, in, edits...)

		require.Equal(t, before, brief(in), "the input is not changed")
		at := -1
		for _, m := range in {
			i := slices.IndexFunc(out, func(o thread.Message) bool { return o.ID == m.ID })
			if i < 0 {
				require.True(t, slices.ContainsFunc(edits, func(e Edit) bool { return e.Op == EditDrop && e.ID == m.ID }), "only a drop takes a message away")
				continue
			}
			require.Greater(t, i, at, "messages keep their order")
			at = i
		}
		if !slices.ContainsFunc(edits, func(e Edit) bool { return e.Op == EditDrop || e.Op == EditBefore || e.Op == EditAfter }) {
			grown := 0
			for _, e := range edits {
				if e.Op == EditAppend {
					grown++
				}
			}
			require.Len(t, out, len(in)+grown)
		}
	})
}
