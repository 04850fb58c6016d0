package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// What told the date is known after it went out of view, until it is told by a
// message that stays in view.
func TestACompactionKnowsWhatToldTheDate(t *testing.T) {
	t.Parallel()
	told := func(id string, pos int64, day string) thread.Digest {
		return thread.Digest{ID: id, Pos: pos, Role: thread.RoleHuman, Day: day}
	}
	for _, tc := range []struct {
		name    string
		before  *thread.Compacted
		digests []thread.Digest
		rescued []int64
		want    string
	}{
		{"never", nil, []thread.Digest{told("a", 0, ""), told("b", 5, "")}, nil, ""},
		{"out of view", nil, []thread.Digest{told("a", 0, "1"), told("b", 5, "")}, nil, "a"},
		{"the newest counts", nil, []thread.Digest{told("a", 0, "1"), told("b", 1, "2"), told("c", 5, "")}, nil, "b"},
		{"the newest stays", nil, []thread.Digest{told("a", 0, "1"), told("b", 5, "2")}, nil, ""},
		{"rescued", nil, []thread.Digest{told("a", 0, "1"), told("b", 5, "")}, []int64{0}, ""},
		{"out of view before", &thread.Compacted{Told: "z"}, []thread.Digest{told("a", 2, ""), told("b", 5, "")}, nil, "z"},
		{"told anew since", &thread.Compacted{Told: "z"}, []thread.Digest{told("a", 2, "2"), told("b", 5, "")}, nil, "a"},
		{"told anew, in view", &thread.Compacted{Told: "z"}, []thread.Digest{told("a", 2, ""), told("b", 5, "2")}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &conversation{digests: tc.digests}
			c.st.Cursor.Compacted = tc.before
			c.compact(&middleware.Compaction{Summary: thread.Digest{ID: "s", Pos: 9}, Cut: 4, Rescued: tc.rescued})
			require.Equal(t, tc.want, c.st.Cursor.Compacted.Told)
		})
	}
}

// A hook sees what those before it have changed.
func TestTheViewFollowsWhatHooksChange(t *testing.T) {
	t.Parallel()
	c := &conversation{digests: []thread.Digest{{ID: "a"}, {ID: "b", Pos: 5}}}
	c.st.Loop = &loop{RunID: "r"}
	view := c.view()
	var ctx workflow.Context
	require.NoError(t, view.Apply(ctx, middleware.Update{Compact: &middleware.Compaction{Summary: thread.Digest{ID: "s", Pos: 9}, Cut: 4}}))
	require.Equal(t, []string{"s", "b"}, []string{view.Messages[0].ID, view.Messages[1].ID})
	require.NoError(t, view.Apply(ctx, middleware.Update{State: thread.StateUpdate{Summary: &thread.SummaryRef{MessageID: "s"}}}))
	require.Equal(t, "s", view.State.Summary.MessageID)
}
