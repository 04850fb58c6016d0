package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// DynamicContext lets the model know the date and what is remembered of the user
// (spec 4.14). Both stand before the words of the run's message, as in the seeds
// and not in a system message as in today's DeerFlow, so that the prompt and all
// earlier messages stay the same, byte for byte, and a provider can cache them
// (A21). The start of the run has written them: the date when it is another day
// than the transcript tells, the memory once.
//
// What is left is a compaction that took the message with the date out of view:
// what it told is then repeated before the summary, in requests alone, and stays
// there until the next compaction, so that later requests begin alike.
type DynamicContext struct{ Base }

// Name is DynamicContext.
func (*DynamicContext) Name() string { return NameDynamicContext }

// EditRequest repeats the date when it is out of view.
func (*DynamicContext) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	request.Edits = append(request.Edits, repeatTold(run)...)
	return nil
}

func repeatTold(run *Run) []agent.Edit {
	summary := summaryOf(run)
	if summary == nil || run.Compacted.Told == "" {
		return nil
	}
	return []agent.Edit{{Op: agent.EditContext, ID: summary.ID, Ref: run.Compacted.Told, Name: "context"}}
}
