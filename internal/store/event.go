package store

import (
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

// Types of events. A type that is not listed here is a custom event.
const (
	EventRunStart   = "run.start"  // RunStarted
	EventDelta      = "delta"      // Delta
	EventReset      = "reset"      // Reset
	EventMessage    = "message"    // MessageRef
	EventCheckpoint = "checkpoint" // CheckpointRef
	EventRunEnd     = "run.end"    // thread.End
	EventCustom     = "custom"     // any object with a "type", e.g. llm_retry
)

// Event is one entry of a thread's log. Seq counts from 1 without gaps; places
// are empty only where deltas were pruned. Data is shared between readers:
// never change it.
type Event struct {
	Thread string
	Seq    int64
	Run    string
	Step   int
	Claim  int
	Type   string
	Data   json.RawMessage
	At     time.Time
}

// NewEvent is an event that is to be appended; Data is encoded as JSON.
type NewEvent struct {
	Type string
	Data any
}

// RunStarted is the data of a run.start event.
type RunStarted struct {
	RunID       string `json:"run_id"`
	AssistantID string `json:"assistant_id,omitempty"`
}

// Delta is a piece of a message that is being written. The pieces of one claim,
// joined, are the message so far. Text and Reasoning hold whole characters: JSON
// cannot carry half of one.
type Delta struct {
	MessageID string          `json:"message_id"`
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	ToolCalls []ToolCallDelta `json:"tool_calls,omitempty"`
	Usage     *thread.Usage   `json:"usage,omitempty"`
}

// ToolCallDelta is a piece of a tool call: id and name come once, pieces of Args
// are joined by Index.
type ToolCallDelta struct {
	Index int    `json:"index"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"`
}

// Reset says that the deltas of a message so far are void: it is written again
// under a new claim.
type Reset struct {
	MessageID string `json:"message_id"`
	Claim     int    `json:"claim"`
}

// MessageRef points at a stored revision of a message.
type MessageRef struct {
	ID   string      `json:"id"`
	Rev  int         `json:"rev"`
	Role thread.Role `json:"role"`
}

// CheckpointRef is the data of a checkpoint event: where the thread stands and
// which channels changed.
type CheckpointRef struct {
	ID         string             `json:"id"`
	Status     thread.Status      `json:"status"`
	Update     thread.StateUpdate `json:"update"`
	Interrupts []thread.Interrupt `json:"interrupts,omitempty"`
}
