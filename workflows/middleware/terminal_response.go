package middleware

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// TerminalResponse sees to it that a run which has used tools does not end with
// nothing to show (B15): an empty answer is asked for again once, with a hint
// that only this request has; a second one becomes a sentence that says so, and
// the run an error.
type TerminalResponse struct {
	Base
	state terminalState
}

type terminalState struct {
	Used bool `json:"used,omitempty"` // the one try of this loop
	Due  bool `json:"due,omitempty"`  // the hint goes with the next request
}

const (
	terminalHint     = "Your last answer had no text that the user can see. Give your final answer now, from what the tools have shown."
	terminalFallback = "The model ended its work without an answer, also when it was asked again. What its tools did stands above; send a message to go on."
)

// Name is TerminalResponse.
func (*TerminalResponse) Name() string { return NameTerminalResponse }

// EditRequest gives the hint, once.
func (t *TerminalResponse) EditRequest(_ workflow.Context, _ *Run, request *Request) error {
	if t.state.Due {
		request.Append("terminal_response_recovery", terminalHint)
		t.state.Due = false
	}
	return nil
}

// AfterModel looks for an empty answer behind the results of tools.
func (t *TerminalResponse) AfterModel(_ workflow.Context, run *Run, reply *ModelReply) (Update, error) {
	m := reply.Message
	if !m.Empty || len(m.Calls) > 0 || !usedTools(run.Messages) {
		return Update{}, nil
	}
	if !t.state.Used {
		t.state = terminalState{Used: true, Due: true}
		return Update{
			Revisions: []thread.Revision{{MessageID: m.ID, Kwargs: map[string]any{thread.KeyHidden: true}}},
			Goto:      step.GotoModel,
		}, nil
	}
	return Update{
		Revisions: []thread.Revision{{
			MessageID: m.ID, AppendText: terminalFallback, Kwargs: map[string]any{thread.KeyErrorFallback: true},
		}},
		Error: terminalFallback,
	}, nil
}

// usedTools reports whether a tool has answered since the user spoke last.
func usedTools(messages []thread.Digest) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		switch d := messages[i]; {
		case d.Role == thread.RoleTool:
			return true
		case d.Role == thread.RoleHuman && !d.Hidden:
			return false
		}
	}
	return false
}

// Save keeps whether the try is used.
func (t *TerminalResponse) Save(workflow.Context) (json.RawMessage, error) {
	if t.state == (terminalState{}) {
		return nil, nil
	}
	return json.Marshal(t.state)
}

// Restore takes it back.
func (t *TerminalResponse) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &t.state)
}
