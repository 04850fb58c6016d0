package middleware

import (
	"encoding/json"

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
// What is left is a compaction in the middle of a run that took the message with
// the date out of view: it is then repeated before the user's message, in the
// request alone.
type DynamicContext struct {
	Base
	told string // id of the newest message that tells the date
}

// Name is DynamicContext.
func (*DynamicContext) Name() string { return NameDynamicContext }

// BeforeRun looks for the date before anything is compacted.
func (d *DynamicContext) BeforeRun(_ workflow.Context, run *Run) (Update, error) {
	d.look(run)
	return Update{}, nil
}

// EditRequest repeats the date when it is out of view.
func (d *DynamicContext) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	user := run.LastUser()
	if d.look(run) || d.told == "" || user == nil {
		return nil
	}
	request.Edits = append(request.Edits, agent.Edit{Op: agent.EditContext, ID: user.ID, Ref: d.told, Name: "context"})
	return nil
}

// look finds the newest message in view that tells the date.
func (d *DynamicContext) look(run *Run) bool {
	for i := len(run.Messages) - 1; i >= 0; i-- {
		if run.Messages[i].Day != "" {
			d.told = run.Messages[i].ID
			return true
		}
	}
	return false
}

// Save keeps the message.
func (d *DynamicContext) Save(workflow.Context) (json.RawMessage, error) {
	if d.told == "" {
		return nil, nil
	}
	return json.Marshal(d.told)
}

// Restore takes it back.
func (d *DynamicContext) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &d.told)
}
