package middleware

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// SkillToolPolicy keeps a run to the tools that its active skills allow: others
// are not offered, and a call of one is refused. The skill that the run's message
// activated with a slash counts alone, otherwise those whose guides the model has
// read. The seeds apply the tools of all enabled skills once; that took tools from
// runs which never touched those skills, so only active ones count. The decision
// is made anew at every step from the thread's own state: a client cannot send
// one.
type SkillToolPolicy struct{ Base }

// Name is SkillToolPolicy.
func (*SkillToolPolicy) Name() string { return NameSkillToolPolicy }

func skillPolicy(run *Run) agent.ToolPolicy {
	activated := ""
	if s := run.Intake.Skill; s != nil && s.Refusal == "" {
		activated = s.Ref.Path
	}
	read := make([]string, 0, len(run.State.SkillContext))
	for _, ref := range run.State.SkillContext {
		read = append(read, ref.Path)
	}
	return agent.SkillPolicy(run.Plan.Skills, activated, read)
}

// EditRequest leaves denied tools out.
func (*SkillToolPolicy) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	policy := skillPolicy(run)
	for _, tool := range run.Plan.Tools {
		if !policy.Allows(tool.Name) {
			request.Hide(tool.Name)
		}
	}
	return nil
}

// AroundTool refuses denied tools, and keeps a search from promoting them.
func (*SkillToolPolicy) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	policy := skillPolicy(run)
	if !policy.Allows(call.Name) {
		return next(ctx, call, &step.Reply{Error: true, Text: fmt.Sprintf(
			"Error: tool %s is not allowed by the active skill policy. Use the tools that the skill names.", call.Name)})
	}
	reply, err := next(ctx, call, nil)
	if p := reply.State.Promoted; p != nil && policy.Restricted {
		reply.State.Promoted = &thread.Promoted{
			CatalogHash: p.CatalogHash,
			Names:       slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool { return !policy.Allows(name) }),
		}
	}
	return reply, err
}
