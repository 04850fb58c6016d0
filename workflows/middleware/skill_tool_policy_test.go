package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func skillRun() *Run {
	return runOf(agent.Summary{
		Tools: []agent.Brief{{Name: "bash"}, {Name: "web_search"}, {Name: "read_file"}, {Name: "task"}},
		Skills: []agent.SkillRule{
			{Path: "/mnt/skills/public/web/SKILL.md", Declared: true, Allowed: []string{"web_search"}},
			{Path: "/mnt/skills/public/shell/SKILL.md", Declared: true, Allowed: []string{"bash"}},
		},
	})
}

func TestSkillsRestrictTools(t *testing.T) {
	t.Parallel()
	run := skillRun()
	require.Empty(t, edited(t, &SkillToolPolicy{}, run).Hidden, "only enabled")

	run.State.SkillContext = []thread.SkillRef{{Path: "/mnt/skills/public/shell/SKILL.md"}}
	require.Equal(t, []string{"web_search", "task"}, edited(t, &SkillToolPolicy{}, run).Hidden)

	run.Intake.Skill = &step.SkillIntake{Ref: thread.SkillRef{Path: "/mnt/skills/public/web/SKILL.md"}}
	require.Equal(t, []string{"bash", "task"}, edited(t, &SkillToolPolicy{}, run).Hidden, "10.2-8 a slash counts alone")
	reply, _ := around(t, &SkillToolPolicy{}, run, callOf("bash"))
	require.True(t, reply.Error)
	require.Contains(t, reply.Text, "Error: tool bash is not allowed by the active skill policy")
	reply, _ = around(t, &SkillToolPolicy{}, run, callOf("web_search"))
	require.Nil(t, reply)

	run.Intake.Skill.Refusal = "not installed"
	require.Equal(t, []string{"web_search", "task"}, edited(t, &SkillToolPolicy{}, run).Hidden, "a refused skill is not active")
}

// 10.2-11: a search promotes nothing that the policy denies.
func TestASearchPromotesNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	promoted := func(run *Run) []string {
		var reply ToolReply
		inWorkflow(t, func(ctx workflow.Context) {
			var err error
			reply, err = (&SkillToolPolicy{}).AroundTool(ctx, run, callOf(agent.ToolSearch), func(workflow.Context, *ToolCall, *step.Reply) (ToolReply, error) {
				return ToolReply{CallToolResult: step.CallToolResult{State: thread.StateUpdate{
					Promoted: &thread.Promoted{CatalogHash: "h", Names: []string{"mail", "bash"}},
				}}}, nil
			})
			require.NoError(t, err)
		})
		require.Equal(t, "h", reply.State.Promoted.CatalogHash)
		return reply.State.Promoted.Names
	}
	run := skillRun()
	require.Equal(t, []string{"mail", "bash"}, promoted(run))
	run.State.SkillContext = []thread.SkillRef{{Path: "/mnt/skills/public/shell/SKILL.md"}}
	require.Equal(t, []string{"bash"}, promoted(run))
	run.State.SkillContext = []thread.SkillRef{{Path: "/mnt/skills/public/web/SKILL.md"}}
	require.Empty(t, promoted(run))
}
