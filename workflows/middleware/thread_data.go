package middleware

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/thread"
)

// ThreadData tells the directories of a thread (spec 4.4). They are virtual, and
// made when a tool first needs them. The run's messages get their run and their
// time where they are stored.
type ThreadData struct{ Base }

// Name is ThreadData.
func (*ThreadData) Name() string { return NameThreadData }

// BeforeRun writes the directories; a run without a thread has none.
func (*ThreadData) BeforeRun(_ workflow.Context, run *Run) (Update, error) {
	if run.ThreadID == "" {
		return Update{}, errors.New("a run needs a thread: without its id there are no directories")
	}
	directories := thread.Directories()
	if run.State.ThreadData != nil && *run.State.ThreadData == directories {
		return Update{}, nil
	}
	return Update{State: thread.StateUpdate{ThreadData: &directories}}, nil
}
