package step

import (
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

// CommitInput is all that a turn changed beside the rows of its own messages:
// one transaction, idempotent by (run, step). It rides on the next activity;
// only at the end of a run and before a wait it goes on its own.
type CommitInput struct {
	Ref
	CheckpointID string    `json:"checkpoint_id"`
	Parent       string    `json:"parent,omitempty"` // id of the checkpoint before
	At           time.Time `json:"at"`
	// Checkpoint is the workflow's own small state, opaque to the store.
	Checkpoint json.RawMessage `json:"checkpoint"`
	Cursor     thread.Cursor   `json:"cursor"`
	// NextPos is the first position that is not given out yet: rows at or after
	// it are newer than this checkpoint and in view too.
	NextPos    int64              `json:"next_pos"`
	State      thread.State       `json:"state"`
	Status     thread.Status      `json:"status"`
	Interrupts []thread.Interrupt `json:"interrupts,omitempty"`
	Next       []string           `json:"next,omitempty"` // nodes that are due, for the API's state
	// Update is the channels that this turn changed, for readers of updates.
	Update thread.StateUpdate `json:"update"`

	Messages  []NewMessage      `json:"messages,omitempty"`
	Revisions []thread.Revision `json:"revisions,omitempty"`
	Seals     []Seal            `json:"seals,omitempty"`
	Ends      []thread.End      `json:"ends,omitempty"`
}

// NewMessage is a small message that the workflow itself makes.
type NewMessage struct {
	Pos     int64          `json:"pos"`
	Message thread.Message `json:"message"`
}

// Seal closes a message that an activity, given up by now, may still be
// writing: the claim is taken, the text that was shown so far becomes the
// message, or Fallback for a tool call. A row that is complete already stays as
// it is.
type Seal struct {
	MessageID string         `json:"message_id"`
	Pos       int64          `json:"pos"`
	Fallback  thread.Message `json:"fallback"`
	// Stream: the message is a model's; its deltas are gathered.
	Stream bool `json:"stream,omitempty"`
}

// CommitResult has the digests of messages that the commit made or sealed, in
// the order of their positions.
type CommitResult struct {
	Messages []thread.Digest `json:"messages,omitempty"`
}
