package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// DurableContext shows the model what a compaction has kept: the summary, framed
// as data, and behind it the delegated work and the skills whose messages went
// with it. It is no system message, since the prompt stays the same for the
// whole thread. It stands first and changes only with the next compaction, so
// that providers can cache the prefix; what is still in view is not listed
// twice. References to skills are written by the activity that read the guide.
type DurableContext struct{ Base }

// Name is DurableContext.
func (*DurableContext) Name() string { return NameDurableContext }

// EditRequest frames the summary.
func (*DurableContext) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if s := summaryOf(run); s != nil {
		request.Edits = append(request.Edits, wrapSummary(run, s.ID, run.Messages))
	}
	return nil
}

// summaryOf is the summary in view, nil if there is none.
func summaryOf(run *Run) *thread.Digest {
	if run.Compacted == nil || len(run.Messages) == 0 || run.Messages[0].Pos != run.Compacted.Summary {
		return nil
	}
	return &run.Messages[0]
}

func wrapSummary(run *Run, id string, view []thread.Digest) agent.Edit {
	gone := func(path, ref string) bool {
		return !slices.ContainsFunc(view, func(d thread.Digest) bool {
			return ref != "" && d.ID == ref || path != "" && d.Read != nil && d.Read.Path == path
		})
	}
	var delegations []thread.Delegation
	for _, d := range run.State.Delegations {
		if gone("", d.ResultRef) {
			delegations = append(delegations, d)
		}
	}
	var skills []thread.SkillRef
	for _, s := range run.State.SkillContext {
		if gone(s.Path, "") {
			skills = append(skills, s)
		}
	}
	return agent.WrapSummary(id, delegations, skills)
}
