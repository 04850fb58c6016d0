package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestTheBoundsOfSubagents(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want SubagentRule }{
		{SubagentRule{}, SubagentRule{3, 6}},
		{SubagentRule{1, 1}, SubagentRule{1, 1}},
		{SubagentRule{2, 50}, SubagentRule{2, 50}},
		{SubagentRule{9, 99}, SubagentRule{4, 50}},
		{SubagentRule{-1, -1}, SubagentRule{1, 1}},
	} {
		require.Equal(t, tc.want, tc.in.Clamped())
	}
}

func TestWhatRemainsOfTheTotal(t *testing.T) {
	t.Parallel()
	rule := SubagentRule{MaxConcurrent: 2, MaxTotal: 4}
	ledger := []thread.Delegation{{ID: "a", RunID: "r1"}, {ID: "b", RunID: "r2"}, {ID: "c", RunID: "r2"}, {ID: "d"}}
	require.Equal(t, 2, rule.Remaining(ledger, "r2"))
	require.Equal(t, 4, rule.Remaining(ledger, "r3"), "earlier runs do not count")
	require.Equal(t, 0, rule.Remaining(ledger, ""), "no run id: all count")
	require.Equal(t, 0, SubagentRule{MaxTotal: 1}.Remaining(ledger, "r2"))
}
