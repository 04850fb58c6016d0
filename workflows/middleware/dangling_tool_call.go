package middleware

import (
	"slices"
	"strings"

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
// asks and the results that stand right behind it, in the order of the calls.
// Calls without an id are left to package model, which names them.
func (*DanglingToolCall) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	results := map[string][]int{} // by call id, the positions of results nobody has taken
	for i, d := range run.Messages {
		if d.Role == thread.RoleTool {
			results[d.CallID] = append(results[d.CallID], i)
		}
	}
	for i, d := range run.Messages {
		if d.Role != thread.RoleAI {
			continue
		}
		open := unanswered(d.Calls, i, results)
		behind := lastResult(run.Messages, i)
		for _, call := range slices.Backward(open) { // each goes right behind the same message
			text := danglingInterrupted
			if call.Invalid != "" {
				text = danglingInvalid + call.Invalid
			}
			request.Edits = append(request.Edits, agent.Edit{
				Op: agent.EditAfter, ID: behind, Role: thread.RoleTool, Name: call.Name, Call: call.ID, Text: text,
			})
		}
	}
	return nil
}

// unanswered are the calls of the message at index i that have no result behind
// it. A result answers one call, the first that asks, since providers may repeat
// ids in later turns.
func unanswered(calls []thread.CallDigest, i int, results map[string][]int) []thread.CallDigest {
	var open []thread.CallDigest
	for _, call := range calls {
		if strings.TrimSpace(call.ID) == "" {
			continue
		}
		free := results[call.ID]
		for len(free) > 0 && free[0] < i {
			free = free[1:] // an orphan: no call can take it any more
		}
		if len(free) == 0 {
			open = append(open, call)
		} else {
			free = free[1:]
		}
		results[call.ID] = free
	}
	return open
}

// lastResult is the id of the message behind which a missing result of the
// message at index i belongs.
func lastResult(messages []thread.Digest, i int) string {
	for i+1 < len(messages) && messages[i+1].Role == thread.RoleTool {
		i++
	}
	return messages[i].ID
}
