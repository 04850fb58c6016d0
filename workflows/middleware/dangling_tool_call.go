package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// DanglingToolCall gives a result, for one request only, to every tool call in
// view that has none: after a stop, a crash or an import. The stored history
// keeps the gap; without the edit a provider refuses every later request of the
// thread (B01).
type DanglingToolCall struct{ Base }

// The texts tell the model what it may conclude.
const (
	danglingInterrupted = "Error: this tool call was interrupted and has no result. It may have run in part; check before you repeat it."
	danglingInvalid     = "Error: this tool call could not be run, its arguments were not valid: "
)

// Name is DanglingToolCall.
func (*DanglingToolCall) Name() string { return NameDanglingToolCall }

// EditRequest adds one error result per open call, behind the message that
// asks and the results that it has.
func (*DanglingToolCall) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	for i, d := range run.Messages {
		if d.Role != thread.RoleAI || len(d.Calls) == 0 {
			continue
		}
		last, answered := resultsOf(run.Messages, i)
		for _, call := range d.Calls {
			if answered[call.ID] > 0 {
				answered[call.ID]--
				continue
			}
			text := danglingInterrupted
			if call.Invalid != "" {
				text = danglingInvalid + call.Invalid
			}
			request.Edits = append(request.Edits, agent.Edit{
				Op: agent.EditAfter, ID: last, Role: thread.RoleTool, Name: call.Name, Call: call.ID, Text: text,
			})
		}
	}
	return nil
}

// resultsOf finds the results of the message at index i: those up to the next
// message of the model. It gives the id of the message behind which a missing
// one belongs, and how many results each call id has.
func resultsOf(messages []thread.Digest, i int) (last string, answered map[string]int) {
	last, answered = messages[i].ID, map[string]int{}
	adjacent := true
	for _, d := range messages[i+1:] {
		if d.Role == thread.RoleAI {
			break
		}
		if d.Role != thread.RoleTool {
			adjacent = false
			continue
		}
		answered[d.CallID]++
		if adjacent {
			last = d.ID
		}
	}
	return last, answered
}
