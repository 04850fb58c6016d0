package store

import (
	"encoding/json"
	"time"

	"deerflow/internal/evidence"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// NewThread is a thread to create.
type NewThread struct {
	ID       string
	User     string
	Metadata json.RawMessage // a JSON object; nil is {}
}

// What CreateThread does with an id that is taken.
const (
	IfExistsRaise   = "raise"
	IfExistsNothing = "do_nothing"
)

// ThreadQuery selects threads; zero fields select all.
type ThreadQuery struct {
	User     string
	IDs      []string
	Status   thread.Status
	Metadata map[string]any // every key equals this scalar (string, number, bool, nil)
	Limit    int            // 0 is 100
	Offset   int
	// SortBy is thread_id, status, created_at, updated_at or state_updated_at.
	// Empty is newest update first, whatever Desc says.
	SortBy string
	Desc   bool
	// PinnedFirst puts pinned threads on top, whatever the order.
	PinnedFirst bool
}

// NewRun is a submission to store: the run, pending, and its human messages.
type NewRun struct {
	Run      Run
	Messages []thread.Message
	// CreateThread makes the thread when there is none.
	CreateThread bool
}

// RunQuery selects runs of a thread, newest first.
type RunQuery struct {
	Limit  int // 0 is 100
	Offset int
	Status thread.RunStatus
}

// StartRun takes a run and its messages into the transcript.
type StartRun struct {
	Ref step.Ref
	Pos int64 // of the run's first message
	// Parent is the checkpoint that the run starts from, empty for none; nil when
	// the caller cannot tell.
	Parent *string
	// Message is that of a run which came from inside and has no stored ones.
	Message     *thread.Message
	AssistantID string
	LoopVersion int // of the turn loop
	PlanHash    string
	Plan        []byte
	Answers     []string // ids of the interrupts that this run answers
	// Context is what the model reads before the text of message ContextOf, which
	// is one of the run's.
	Context   []thread.ContextBlock
	ContextOf string
	// Baseline is what the files of the thread are now; nil: unknown.
	Baseline *Baseline
	At       time.Time
}

// Claim asks for the right to write a message.
type Claim struct {
	Ref       step.Ref
	MessageID string
	Unsafe    bool // the step has effects that must not happen twice
	// Commit is done first, in the same transaction; nil for none.
	Commit *step.CommitInput
}

// ClaimResult is the claim that was given, or the complete row.
type ClaimResult struct {
	Claim int
	Done  *Row
	// MayHaveRun: the step is unsafe and somebody claimed it before without
	// leaving a row.
	MayHaveRun bool
}

// Owner says under which claim a message is written. A zero Claim is that of a
// step that needs none, since it streams nothing and may be done twice: it only
// completes a message that is neither complete nor closed.
type Owner struct {
	Ref       step.Ref
	MessageID string
	Claim     int
}

// NewRow is a finished message.
type NewRow struct {
	Pos     int64
	Message thread.Message
	// Digest is kept beside the message for whoever finds the row complete: the
	// result of the step without the body. It may be nil.
	Digest json.RawMessage
	// Sources are the pages that the step has fetched and found, Checks what became
	// of the citations of what it has written.
	Sources []Source
	Checks  []evidence.Check
	// Changes is what the run has done to the files of the thread; nil: the same as
	// before.
	Changes *FileChanges
}

// DigestFunc makes the digest of a message at a position.
type DigestFunc func(m *thread.Message, pos int64) thread.Digest

// CheckpointQuery selects checkpoints, newest first.
type CheckpointQuery struct {
	Before string // only older ones than this id
	Limit  int    // 0 is 10
}

// Head is what a thread starts or continues with.
type Head struct {
	Checkpoint *Checkpoint // the newest; nil if there is none
	Rows       []Row       // in view of the cursor
	RecentRuns []string    // newest 256 runs that have ended, newest first
}

// ViewOptions say as of when a thread is looked at.
type ViewOptions struct {
	AtSeq int64 // 0 is now
}

// View is what a client sees of a thread.
type View struct {
	Thread     Thread      // always as of now
	Checkpoint *Checkpoint // the newest as of AtSeq; nil if there is none
	Rows       []Row       // the transcript in view; pending human messages last
	Seq        int64       // AtSeq, or the last event there is
}
