package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestContextIsRepeatedByReference(t *testing.T) {
	t.Parallel()
	blocks := []thread.ContextBlock{
		{Kind: thread.ContextDate, Text: "the date", Day: "2026-11-30"},
		{Kind: thread.ContextMemory, Text: "the memory"},
		{Kind: thread.ContextUploads, Text: "the files"},
		{Kind: thread.ContextSkill, Text: "the skill"},
	}
	from := Sources{Context: func(id string) ([]thread.ContextBlock, error) {
		switch id {
		case "old":
			return blocks, nil
		case "bare":
			return blocks[2:], nil
		}
		return nil, errors.New("gone")
	}}
	in := []thread.Message{thread.Human("a", "one"), thread.Human("b", "two")}

	out, err := ApplyEdits(in, []Edit{{Op: EditContext, ID: "b", Ref: "old"}}, from)
	require.NoError(t, err)
	require.Equal(t, []string{"a:one", "edit-0:the date\n\nthe memory", "b:two"}, brief(out))
	require.True(t, out[1].Hidden())
	require.Len(t, blocks, 4)
	require.Equal(t, "the files", blocks[2].Text, "the source is not changed")

	for _, same := range []Edit{{Op: EditContext, ID: "b", Ref: "bare"}, {Op: EditContext, ID: "out of view", Ref: "old"}} {
		out, err = ApplyEdits(in, []Edit{same}, from)
		require.NoError(t, err)
		require.Equal(t, in, out)
	}
	_, err = ApplyEdits(in, []Edit{{Op: EditContext, ID: "b", Ref: "new"}}, from)
	require.ErrorContains(t, err, "message new: gone")
	out, err = ApplyEdits(in, []Edit{{Op: EditContext, ID: "b", Ref: "old"}}, Sources{})
	require.NoError(t, err)
	require.Equal(t, in, out)
}

func TestContextStandsBeforeTheText(t *testing.T) {
	t.Parallel()
	with := func(c thread.Content) thread.Message {
		m := thread.Message{ID: "m", Role: thread.RoleHuman, Content: c}
		m.SetContext([]thread.ContextBlock{{Kind: thread.ContextDate, Text: "date"}, {Kind: thread.ContextMemory}, {Kind: thread.ContextUploads, Text: "files"}})
		return m
	}
	for _, tc := range []struct {
		name string
		in   thread.Content
		want thread.Content
	}{
		{"text", thread.Text("hello"), thread.Text("date\n\nfiles\n\nhello")},
		{"no text", thread.Text(""), thread.Text("date\n\nfiles")},
		{"list", thread.Blocks(image("a"), text("x")), thread.Blocks(text("date\n\nfiles"), image("a"), text("x"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := []thread.Message{with(tc.in)}
			require.Equal(t, tc.want, WithContext(in)[0].Content)
			require.Equal(t, tc.in, in[0].Content, "the input is not changed")
		})
	}
}
