package middleware

import (
	"go.temporal.io/sdk/workflow"
)

// Conversation names what a memory may learn from: a run that is over.
type Conversation struct {
	Thread string
	Run    string
	User   string
	Agent  string
}

// Archive gathers conversations for the memory.
type Archive interface {
	// Add takes a conversation. It must not wait for anything.
	Add(ctx workflow.Context, c Conversation) error
}

// Memory hands a run that is over to the archive (spec 4.22). It only writes: what
// is remembered reaches the model by DynamicContext, although the seeds' table
// gives both to this one. A memory that fails is logged; the answer stands.
type Memory struct {
	Base
	archive Archive
}

// NewMemory makes it for an archive; without one nothing is remembered.
func NewMemory(archive Archive) *Memory { return &Memory{archive: archive} }

// Name is Memory.
func (*Memory) Name() string { return NameMemory }

// AfterRun hands the run over.
func (m *Memory) AfterRun(ctx workflow.Context, run *Run) (Update, error) {
	if m.archive == nil || !run.Plan.Memory {
		return Update{}, nil
	}
	c := Conversation{Thread: run.ThreadID, Run: run.RunID, User: run.User, Agent: run.Plan.Agent}
	if err := m.archive.Add(ctx, c); err != nil {
		workflow.GetLogger(ctx).Warn("The conversation is not remembered", "run", run.RunID, "error", err)
	}
	return Update{}, nil
}
