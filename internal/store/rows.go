package store

import (
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

// Thread is the row of a conversation.
type Thread struct {
	ID       string
	User     string
	Status   thread.Status
	Metadata json.RawMessage // a JSON object
	// State and Interrupts are those of the newest checkpoint, less the
	// questions that a run which has started since answers.
	State      thread.State
	Interrupts []thread.Interrupt
	Error      string // of the last run, while Status is error
	CreatedAt  time.Time
	// UpdatedAt moves with every change that a list of threads shows.
	UpdatedAt time.Time
	// StateUpdatedAt is the time of the newest checkpoint; CreatedAt before the
	// first.
	StateUpdatedAt time.Time
	CheckpointID   string // the newest; "" if there is none
}

// Run is the row of one API submission.
type Run struct {
	ID          string
	ThreadID    string
	User        string
	AssistantID string
	Status      thread.RunStatus
	StopReason  string
	Error       string
	Multitask   thread.Multitask
	Options     thread.RunOptions
	Submit      json.RawMessage // the step.SubmitRun to send again after a crash
	Kwargs      json.RawMessage // what the client sent, for it to read back
	Metadata    json.RawMessage
	Key         string // idempotency key, unique in the thread; "" if none
	Usage       thread.Usage
	ModelCalls  int
	LoopVersion int   // of the turn loop that it began with; 0 while it is pending, and for the oldest
	FirstSeq    int64 // events of the run have a greater Seq; set when it starts
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Row is one revision of a stored message.
type Row struct {
	Pos     int64 // place in the transcript; -1 while its run is pending
	ID      string
	RunID   string
	Step    int
	Rev     int
	Seq     int64 // of its event; 0 while its run is pending
	Message thread.Message
	Digest  json.RawMessage // what [Store.Finish] was given with it, nil otherwise
	At      time.Time       // when this revision was written
}

// Checkpoint is the state of a thread after a commit.
type Checkpoint struct {
	ID         string
	ThreadID   string
	RunID      string
	Parent     string // id of the checkpoint before, "" for the first
	Step       int
	Seq        int64 // of its event
	At         time.Time
	Data       json.RawMessage // the workflow's own state, opaque here
	Cursor     thread.Cursor
	NextPos    int64 // rows from here on are newer than the checkpoint, and in view
	State      thread.State
	Status     thread.Status
	Interrupts []thread.Interrupt
	Next       []string // nodes that are due
}
