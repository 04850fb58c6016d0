package api

import (
	"encoding/json"

	"github.com/google/uuid"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// threadShape is a thread as the API shows it.
type threadShape struct {
	ThreadID       string                        `json:"thread_id"`
	CreatedAt      string                        `json:"created_at"`
	UpdatedAt      string                        `json:"updated_at"`
	StateUpdatedAt string                        `json:"state_updated_at"`
	Metadata       json.RawMessage               `json:"metadata"`
	Status         thread.Status                 `json:"status"`
	Config         struct{}                      `json:"config"`
	Values         channels                      `json:"values"`
	Interrupts     map[string][]thread.Interrupt `json:"interrupts"`
	Error          *string                       `json:"error"`
}

func toThreadShape(t *store.Thread, values channels) threadShape {
	shape := threadShape{
		ThreadID: t.ID, CreatedAt: stamp(t.CreatedAt), UpdatedAt: stamp(t.UpdatedAt),
		StateUpdatedAt: stamp(t.StateUpdatedAt), Metadata: t.Metadata, Status: t.Status,
		Values: values, Interrupts: map[string][]thread.Interrupt{},
	}
	if len(shape.Metadata) == 0 {
		shape.Metadata = json.RawMessage("{}")
	}
	if len(t.Interrupts) > 0 {
		shape.Interrupts[taskID(t.CheckpointID)] = t.Interrupts
	}
	if t.Status == thread.StatusError && t.Error != "" {
		shape.Error = &t.Error
	}
	return shape
}

// taskID names what a checkpoint would do next. All questions of a checkpoint
// stand in one task: clients show the interrupts of the last task only.
func taskID(checkpointID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("task/"+checkpointID)).String()
}
