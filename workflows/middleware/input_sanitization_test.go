package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
)

func TestInputSanitization(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		rule *agent.InputRule
		want []agent.Edit
	}{
		{"on", &agent.InputRule{}, []agent.Edit{{Op: agent.EditGuard}}},
		{"with a limit", &agent.InputRule{MaxChars: 100}, []agent.Edit{{Op: agent.EditGuard, Keep: 100}}},
		{"a plan from before there was one", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := &Request{}
			require.NoError(t, (&InputSanitization{}).EditRequest(nil, &Run{Plan: &agent.Summary{Input: tc.rule}}, request))
			require.Equal(t, tc.want, request.Edits)
		})
	}
}
