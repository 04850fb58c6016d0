package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// InputSanitization lets the model see where a user's words begin and end, and
// escapes the framework's tags in them (spec 4.1). It means every message of a
// user, not the last alone as DeerFlow does: a forged tag does no less harm a turn
// later, and a message that reads the same in each request keeps the provider's
// cache. The length limit is the seeds' max_input_length; there is none by
// default.
type InputSanitization struct{ Base }

// Name is InputSanitization.
func (*InputSanitization) Name() string { return NameInputSanitization }

// EditRequest guards the transcript. Edits behind it add what is the framework's
// own.
func (*InputSanitization) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if rule := run.Plan.Input; rule != nil {
		request.Edits = append(request.Edits, agent.Edit{Op: agent.EditGuard, Keep: rule.MaxChars})
	}
	return nil
}
