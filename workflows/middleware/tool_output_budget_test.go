package middleware

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func outputRule() *agent.ToolOutputRule {
	return &agent.ToolOutputRule{
		ExternalizeMin: 12_000, FallbackMax: 30_000, FallbackHead: 8000, FallbackTail: 3000, Exempt: []string{"read_file"},
		Overrides: map[string]int{"ls": 0},
	}
}

func TestFreshResultsAreBounded(t *testing.T) {
	t.Parallel()
	on, off := runOf(agent.Summary{ToolOutput: outputRule()}), runOf(agent.Summary{})
	for _, tc := range []struct {
		run    *Run
		tool   string
		budget bool
	}{
		{on, "bash", true},
		{on, "web_fetch", true},
		{on, "mcp_thing", true},
		{on, "ls", true}, // an override of 0 leaves the fallback
		{on, "read_file", false},
		{off, "bash", false},
	} {
		reply, rules := around(t, &ToolOutputBudget{}, tc.run, callOf(tc.tool))
		require.Nil(t, reply)
		require.Equal(t, tc.budget, rules.Budget, tc.tool)
	}
}

func TestD01OldResultsAreCutInRequests(t *testing.T) {
	t.Parallel()
	run := runOf(agent.Summary{ToolOutput: outputRule()})
	run.Messages = []thread.Digest{
		{ID: "user", Role: thread.RoleHuman, Size: 3 << 20},
		{ID: "limit", Role: thread.RoleTool, Name: "bash", Size: 30_000},
		{ID: "over", Role: thread.RoleTool, Name: "bash", Size: 30_001},
		{ID: "read", Role: thread.RoleTool, Name: "read_file", Size: 100_000},
		{ID: "import", Role: thread.RoleTool, Name: "read_file", Size: 3 << 20},
		{ID: "unmeasured", Role: thread.RoleTool, Name: "bash"},
	}
	edits := edited(t, &ToolOutputBudget{}, run).Edits
	require.Len(t, edits, 2)
	require.Equal(t, agent.Edit{Op: agent.EditCut, ID: "over", Text: leftOut, Over: 30_000, Keep: 8000, KeepTail: 3000}, edits[0])
	require.Equal(t, "import", edits[1].ID)

	long := thread.Message{ID: "over", Role: thread.RoleTool, Content: thread.Text(strings.Repeat("a", 50_000) + "end")}
	out, err := agent.ApplyEdits([]thread.Message{long}, edits, agent.Sources{})
	require.NoError(t, err)
	require.Len(t, out[0].Content.String(), 11_000+len(leftOut))
	require.True(t, strings.HasSuffix(out[0].Content.String(), "end"))

	wide := thread.Message{ID: "over", Role: thread.RoleTool, Content: thread.Text(strings.Repeat("端", 30_000))}
	out, err = agent.ApplyEdits([]thread.Message{wide}, edits, agent.Sources{})
	require.NoError(t, err)
	require.Equal(t, wide, out[0], "the limit is in characters")

	require.Empty(t, edited(t, &ToolOutputBudget{}, &Run{Plan: &agent.Summary{}, Messages: run.Messages}).Edits)
}

func TestTheCutOfOldResultsFitsAnyLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10, 60, 61, 100, 5000, 12_000} {
		rule := outputRule()
		rule.FallbackMax = limit
		run := runOf(agent.Summary{ToolOutput: rule})
		run.Messages = []thread.Digest{{ID: "m", Role: thread.RoleTool, Name: "bash", Size: 1 << 20}}
		e := edited(t, &ToolOutputBudget{}, run).Edits[0]
		require.LessOrEqual(t, e.Keep+e.KeepTail+len(e.Text), limit)
		require.GreaterOrEqual(t, e.Keep, 0)
		require.GreaterOrEqual(t, e.KeepTail, 0)
	}
}
