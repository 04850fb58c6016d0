package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestSkillActivation(t *testing.T) {
	t.Parallel()
	ref := thread.SkillRef{Name: "pdf", Path: "/mnt/skills/public/pdf/SKILL.md"}
	for _, tc := range []struct {
		name string
		in   *step.SkillIntake
		want Update
	}{
		{"none", nil, Update{}},
		{"found", &step.SkillIntake{Ref: ref}, Update{State: thread.StateUpdate{SkillContext: []thread.SkillRef{ref}}}},
		{
			"refused", &step.SkillIntake{Refusal: "The skill /pdf is disabled."},
			Update{Reply: &thread.Message{Role: thread.RoleAI, Content: thread.Text("The skill /pdf is disabled.")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			u, err := (&SkillActivation{}).BeforeRun(nil, &Run{Intake: step.Intake{Skill: tc.in}})
			require.NoError(t, err)
			require.Equal(t, tc.want, u)
		})
	}
}
