package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestDynamicContextRepeatsWhatACompactionTookAway(t *testing.T) {
	t.Parallel()
	user := func(id, day string) thread.Digest { return thread.Digest{ID: id, Role: thread.RoleHuman, Day: day} }
	summary := thread.Digest{ID: "s", Role: thread.RoleHuman, Name: thread.NameSummary, Hidden: true}
	ai := thread.Digest{ID: "a", Role: thread.RoleAI}
	repeated := func(id, ref string) []agent.Edit {
		return []agent.Edit{{Op: agent.EditContext, ID: id, Ref: ref, Name: "context"}}
	}
	for _, tc := range []struct {
		name   string
		before []thread.Digest // in view when the run begins
		now    []thread.Digest
		want   []agent.Edit
	}{
		{"in view", []thread.Digest{user("m1", "2026-11-30")}, []thread.Digest{user("m1", "2026-11-30"), ai}, nil},
		{"told by an earlier message", []thread.Digest{user("m1", "2026-11-30"), ai, user("m2", "")}, []thread.Digest{summary, user("m2", ""), ai}, repeated("m2", "m1")},
		{
			"told twice, the newer one stays in view",
			[]thread.Digest{user("m1", "2026-11-29"), user("m2", "2026-11-30")},
			[]thread.Digest{summary, user("m2", "2026-11-30")},
			nil,
		},
		{
			"told twice, the newer one counts",
			[]thread.Digest{user("m1", "2026-11-29"), user("m2", "2026-11-30"), user("m3", "")},
			[]thread.Digest{summary, user("m3", "")},
			repeated("m3", "m2"),
		},
		{"never told", []thread.Digest{user("m1", "")}, []thread.Digest{user("m1", "")}, nil},
		{"nobody spoke", nil, []thread.Digest{ai}, nil},
		{"no user in view", []thread.Digest{user("m1", "2026-11-30")}, []thread.Digest{summary, ai}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := &DynamicContext{}
			u, err := d.BeforeRun(nil, &Run{Messages: tc.before})
			require.NoError(t, err)
			require.Equal(t, Update{}, u)

			saved, err := d.Save(nil)
			require.NoError(t, err)
			again := &DynamicContext{}
			if saved != nil {
				require.NoError(t, again.Restore(nil, saved))
			}
			for _, d := range []*DynamicContext{d, again} {
				request := &Request{}
				require.NoError(t, d.EditRequest(nil, &Run{Messages: tc.now}, request))
				require.Equal(t, tc.want, request.Edits)
			}
		})
	}
}
