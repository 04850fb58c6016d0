package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestDynamicContextRepeatsWhatACompactionTookAway(t *testing.T) {
	t.Parallel()
	summary := thread.Digest{ID: "s", Pos: 7, Role: thread.RoleHuman, Name: thread.NameSummary, Hidden: true}
	user := thread.Digest{ID: "m9", Pos: 5, Role: thread.RoleHuman}
	told := thread.Digest{ID: "m10", Pos: 9, Role: thread.RoleHuman, Day: "2026-12-01"}
	repeated := []agent.Edit{{Op: agent.EditContext, ID: "s", Ref: "m1", Name: "context"}}
	for _, tc := range []struct {
		name string
		run  Run
		want []agent.Edit
	}{
		{"nothing was compacted", Run{Messages: []thread.Digest{user}}, nil},
		{"in view", Run{Messages: []thread.Digest{summary, user}, Compacted: &thread.Compacted{Summary: 7}}, nil},
		{"out of view", Run{Messages: []thread.Digest{summary, user}, Compacted: &thread.Compacted{Summary: 7, Told: "m1"}}, repeated},
		{"told again later", Run{Messages: []thread.Digest{summary, user, told}, Compacted: &thread.Compacted{Summary: 7, Told: "m1"}}, repeated},
		{"nobody spoke", Run{Messages: []thread.Digest{summary}, Compacted: &thread.Compacted{Summary: 7, Told: "m1"}}, repeated},
		{"the summary is not in view", Run{Messages: []thread.Digest{user}, Compacted: &thread.Compacted{Summary: 7, Told: "m1"}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := &Request{}
			require.NoError(t, (&DynamicContext{}).EditRequest(nil, &tc.run, request))
			require.Equal(t, tc.want, request.Edits)
		})
	}
}
