package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
)

// ToolAskClarification is the tool whose call makes the loop wait for a person.
const ToolAskClarification = "ask_clarification"

const proceedAlone = "Nobody can answer questions in this run. Decide by your best judgement, say what you assumed, and go on."

// mostQuestions is how many questions one message may ask: their cards are
// carried until they are answered.
const mostQuestions = 3

const tooManyQuestions = "Error: a message may ask three questions at most; this one was not asked. Ask what you need first, or put several into one form."

// asked counts the questions before this one in the message that asks.
func asked(run *Run, call *ToolCall) int {
	n := 0
	for i := range run.Messages {
		if run.Messages[i].ID != call.Asker {
			continue
		}
		for _, before := range run.Messages[i].Calls[:min(call.Position, len(run.Messages[i].Calls))] {
			if before.Name == ToolAskClarification {
				n++
			}
		}
	}
	return n
}

// Clarification lets a question stop the loop: the question is stored as the
// tool's result, with its card, and the loop stands still until an answer
// comes. It is the last of the chain, so that everything else has had its say.
type Clarification struct{ Base }

// Name is Clarification.
func (*Clarification) Name() string { return NameClarification }

// AroundTool marks the reply of a question as one to wait with.
func (*Clarification) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if call.Name != ToolAskClarification {
		return next(ctx, call, nil)
	}
	if run.Options.DisableClarification || run.Plan.Clarification.Disabled {
		return next(ctx, call, &step.Reply{Text: proceedAlone})
	}
	if asked(run, call) >= mostQuestions {
		return next(ctx, call, &step.Reply{Error: true, Text: tooManyQuestions})
	}
	reply, err := next(ctx, call, nil)
	reply.Wait = err == nil && reply.Interrupt != nil
	return reply, err
}
