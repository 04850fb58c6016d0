package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestSystemMessageCoalescing(t *testing.T) {
	t.Parallel()
	human, system := thread.Digest{Role: thread.RoleHuman}, thread.Digest{Role: thread.RoleSystem}
	for _, tc := range []struct {
		name string
		in   []thread.Digest
		want []agent.Edit
	}{
		{"nothing", nil, nil},
		{"none", []thread.Digest{human}, nil},
		{"one", []thread.Digest{human, system}, []agent.Edit{{Op: agent.EditCoalesce}}},
		{"two", []thread.Digest{system, human, system}, []agent.Edit{{Op: agent.EditCoalesce}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := &Request{}
			require.NoError(t, (&SystemMessageCoalescing{}).EditRequest(nil, &Run{Messages: tc.in}, request))
			require.Equal(t, tc.want, request.Edits)
		})
	}
}
