package middleware

import (
	"encoding/json"
	"strings"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// ModelLength notes an answer that was cut at the model's output limit, in the
// run's stop reason (spec 4.33), and stops a model that runs into that limit in
// the middle of a tool call again and again (B14). Such a call is never run, and
// its result says why; a model that does not listen would pay for the same text
// for ever.
type ModelLength struct {
	Base
	row int // answers in a row
}

// mostCutAnswers in a row end the run.
const mostCutAnswers = 3

const modelLengthNotice = "I stopped here: my answer reached the output limit of the model three times in a row while I was writing a tool call, so nothing of it was run. " +
	"Ask for smaller pieces, or allow longer answers."

// Name is ModelLength.
func (*ModelLength) Name() string { return NameModelLength }

// AfterModel counts. An answer of text stays as it is; one with nothing in it is
// for TerminalResponse.
func (l *ModelLength) AfterModel(_ workflow.Context, _ *Run, reply *ModelReply) (Update, error) {
	cut := cutByLength(reply.FinishReason)
	if len(reply.Message.Calls) == 0 || !cut {
		l.row = 0
		if cut && !reply.Message.Empty {
			return Update{StopReason: thread.StopModelLength}, nil
		}
		return Update{}, nil
	}
	if l.row++; l.row < mostCutAnswers {
		return Update{}, nil
	}
	return Update{
		Revisions:  []thread.Revision{{MessageID: reply.Message.ID, StripCalls: true, AppendText: modelLengthNotice}},
		Goto:       step.GotoEnd,
		StopReason: thread.StopModelLength,
	}, nil
}

func cutByLength(finish string) bool {
	switch strings.ToLower(finish) {
	case "length", "max_tokens", "max_output_tokens", "max_length", "token_limit":
		return true
	}
	return false
}

// Save keeps the count.
func (l *ModelLength) Save(workflow.Context) (json.RawMessage, error) {
	if l.row == 0 {
		return nil, nil
	}
	return json.Marshal(l.row)
}

// Restore takes it back.
func (l *ModelLength) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &l.row)
}
