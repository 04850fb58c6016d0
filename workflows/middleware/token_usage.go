package middleware

import "go.temporal.io/sdk/workflow"

// TokenUsage has each answer stored with what its tokens went to (spec 4.20):
// thinking, a final answer, a change of the plan, sub-agents or tools. The
// stamp is made where the answer is written, so that no row is written twice;
// the sums of a run are the loop's own.
type TokenUsage struct{ Base }

// Name is TokenUsage.
func (*TokenUsage) Name() string { return NameTokenUsage }

// EditRequest asks for the stamp.
func (*TokenUsage) EditRequest(_ workflow.Context, _ *Run, request *Request) error {
	request.Attribute = true
	return nil
}
