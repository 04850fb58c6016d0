package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Cases 10.2 of skill policies. Skills stand for their paths by a letter.
func TestSkillPolicy(t *testing.T) {
	t.Parallel()
	enabled := []SkillRule{
		{Path: "web", Declared: true, Allowed: []string{"web_search"}},
		{Path: "shell", Declared: true, Allowed: []string{"bash"}},
		{Path: "delegate", Declared: true, Allowed: []string{"task"}},
		{Path: "nothing", Declared: true},
		{Path: "legacy"},
		{Path: "legacy2"},
	}
	for _, tc := range []struct {
		name      string
		activated string
		read      []string
		allows    []string
		denies    []string
	}{
		{"10.2-1 enabled, never read", "", nil, []string{"web_search", "bash", "task"}, nil},
		{"10.2-2 activated", "web", nil, []string{"web_search", "read_file", "describe_skill", "tool_search", "review_skill_package"}, []string{"bash", "write_file", "ask_clarification", "present_files"}},
		{"10.2-3 without task", "web", nil, nil, []string{"task"}},
		{"10.2-3 with task", "", []string{"delegate"}, []string{"task"}, []string{"bash"}},
		{"10.2-4 one declares, one does not", "", []string{"shell", "legacy"}, []string{"bash", "read_file"}, []string{"web_search"}},
		{"two declare", "", []string{"shell", "web"}, []string{"bash", "web_search"}, []string{"task"}},
		{"10.2-5 none declares", "", []string{"legacy", "legacy2"}, []string{"bash", "web_search", "task"}, nil},
		{"10.2-6 an empty list", "", []string{"nothing"}, []string{"read_file"}, []string{"bash"}},
		{"10.2-7 one is unknown", "", []string{"gone", "shell"}, []string{"bash"}, []string{"web_search"}},
		{"10.2-7 all are unknown", "", []string{"gone", "disabled"}, []string{"read_file"}, []string{"bash", "web_search"}},
		{"10.2-8 activated over read", "web", []string{"shell"}, []string{"web_search"}, []string{"bash"}},
		{"activated, declares nothing, over read", "legacy", []string{"shell"}, []string{"web_search"}, nil},
		{"10.2-12 activated, not of this agent", "other", []string{"shell"}, []string{"read_file"}, []string{"bash", "web_search"}},
	} {
		policy := SkillPolicy(enabled, tc.activated, tc.read)
		for _, tool := range tc.allows {
			require.True(t, policy.Allows(tool), "%s: %s", tc.name, tool)
		}
		for _, tool := range tc.denies {
			require.False(t, policy.Allows(tool), "%s: %s", tc.name, tool)
		}
	}
}
