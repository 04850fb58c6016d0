package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// ToolOutputBudget bounds what the results of tools have in a transcript (D01).
// A fresh result of more than 12,000 characters goes to a file, and a synopsis
// takes its place; when that cannot be done, its middle is left out. The activity
// does it, before the result is stored. Of an older one that is longer than the
// 30,000 characters that no result has any more, from an import or from before
// there was a budget, requests show the beginning and the end. Configured by
// tool_output.
type ToolOutputBudget struct{ Base }

// Name is ToolOutputBudget.
func (*ToolOutputBudget) Name() string { return NameToolOutputBudget }

// AroundTool asks the activity to bound the result.
func (*ToolOutputBudget) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if rule := run.Plan.ToolOutput; rule != nil {
		call.Rules.Budget = !slices.Contains(rule.Exempt, call.Name)
	}
	return next(ctx, call, nil)
}

// longestExempt is what a tool that the budget does not bind gives at most, in
// bytes: a longer result was not made here.
const longestExempt = 256 << 10

const leftOut = "\n\n[... the middle of this long result is left out here ...]\n\n"

// EditRequest cuts old results that are too long. No file is written for them.
func (*ToolOutputBudget) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	rule := run.Plan.ToolOutput
	if rule == nil || rule.FallbackMax <= 0 {
		return nil
	}
	mark := leftOut
	if rule.FallbackMax < 2*len(mark) {
		mark = ""
	}
	room := rule.FallbackMax - len(mark)
	head := min(rule.FallbackHead, room*2/3)
	tail := min(rule.FallbackTail, room-head)
	for _, d := range run.Messages {
		over := rule.FallbackMax
		if slices.Contains(rule.Exempt, d.Name) {
			over = max(over, longestExempt)
		}
		if d.Role == thread.RoleTool && d.Size > over {
			request.Edits = append(request.Edits, agent.Edit{
				Op: agent.EditCut, ID: d.ID, Text: mark, Over: over, Keep: head, KeepTail: tail,
			})
		}
	}
	return nil
}
