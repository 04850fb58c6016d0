package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/thread"
)

// SkillActivation takes up the skill that a user called by name (spec 4.15). Its
// guide stands before the words of the run's message, so it is read once and is in
// every request of the run; the start of the run has written it. A skill that is
// there and cannot be used is told in place of an answer, and no model is called.
type SkillActivation struct{ Base }

// Name is SkillActivation.
func (*SkillActivation) Name() string { return NameSkillActivation }

// BeforeRun remembers the skill, or ends the run with the reason.
func (*SkillActivation) BeforeRun(_ workflow.Context, run *Run) (Update, error) {
	skill := run.Intake.Skill
	switch {
	case skill == nil:
		return Update{}, nil
	case skill.Refusal != "":
		return Update{Reply: &thread.Message{Role: thread.RoleAI, Content: thread.Text(skill.Refusal)}}, nil
	}
	return Update{State: thread.StateUpdate{SkillContext: []thread.SkillRef{skill.Ref}}}, nil
}
