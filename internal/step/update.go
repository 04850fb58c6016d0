package step

import (
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

// ThreadInput starts the workflow that is a thread. Fields may be added; a
// workflow that continues on a newer binary reads what an older one wrote.
type ThreadInput struct {
	Version  int            `json:"version"`
	Thread   string         `json:"thread"`
	User     string         `json:"user"`
	Settings ThreadSettings `json:"settings"`
	// Stopped: a person has ended the workflow before this one from outside, by a
	// cancel or a terminate. What it was doing is ended, not taken up.
	Stopped bool `json:"stopped,omitempty"`
	// Carried is the state of the run before, when the workflow continues as
	// new.
	Carried json.RawMessage `json:"carried,omitempty"`
	// Waiting is what waited in the run before, when the workflow starts anew from
	// the thread's checkpoint.
	Waiting json.RawMessage `json:"waiting,omitempty"`
}

// ThreadSettings bound a thread workflow.
type ThreadSettings struct {
	ContinueEvents int           `json:"continue_events"` // history events since the first of this run
	ContinueBytes  int           `json:"continue_bytes"`  // history bytes since the first event of this run
	IdleTimeout    time.Duration `json:"idle_timeout"`    // 0: an idle thread never completes
	// SearchAttributes: the namespace has the product's search attributes, so
	// the workflow may set them.
	SearchAttributes bool `json:"search_attributes,omitempty"`
}

// SubmitRun asks for a run. Its row and its messages stand in the store
// already. While a question is open, any run answers it: the named ones with
// Answers, all of them otherwise.
type SubmitRun struct {
	RunID     string            `json:"run_id"`
	Multitask thread.Multitask  `json:"multitask"`
	Options   thread.RunOptions `json:"options"`
	Messages  int               `json:"messages"`          // how many the run's row has
	Answers   []string          `json:"answers,omitempty"` // ids of interrupts
	// Again counts submissions of this run after a refusal; each is an update of
	// its own, since a refused one keeps its answer.
	Again int `json:"again,omitempty"`
	// Stopped is set in the store once a stop was taken: whoever takes the run up
	// again, its workflow lost, only ends it.
	Stopped thread.CancelAction `json:"stopped,omitempty"`
}

// SubmitResult says what became of a submission.
type SubmitResult struct {
	RunID     string `json:"run_id"`
	Queued    bool   `json:"queued,omitempty"`    // behind another run
	Duplicate bool   `json:"duplicate,omitempty"` // this id was taken before
}

// CancelRun stops a run that is active, queued, or waits with a question. An
// empty RunID means the one that is active.
type CancelRun struct {
	RunID  string              `json:"run_id"`
	Action thread.CancelAction `json:"action"`
	// User, when it is set, must be the owner of the thread: nobody else has
	// checked that.
	User string `json:"user,omitempty"`
}

// CancelResult tells whether there was anything to stop.
type CancelResult struct {
	RunID  string           `json:"run_id"`
	Status thread.RunStatus `json:"status"`
	// Waiting: the run had not started. It never will, and its row may be ended
	// at once, before the thread comes to it.
	Waiting bool `json:"waiting,omitempty"`
}

// Answer answers a question from the Temporal Web UI or its CLI; the text
// becomes a run of its own.
type Answer struct {
	ID   string `json:"id,omitempty"` // of the interrupt; empty: the oldest
	Text string `json:"text"`
}

// AnswerResult names the run that the answer became.
type AnswerResult struct {
	RunID string `json:"run_id"`
}

// UpdateState changes channels of a thread that no run is active on. Its
// messages were made by a client and are small; repeating it under the same id
// is harmless.
type UpdateState struct {
	ID        string    `json:"id"` // begins with [thread.UpdatePrefix]
	Title     *string   `json:"title,omitempty"`
	Artifacts *Replaced `json:"artifacts,omitempty"`
	// Clear takes all messages out of view, Remove those of these ids. Then
	// Messages are added; one of a known id takes the place of that one.
	Clear    bool             `json:"clear,omitempty"`
	Remove   []string         `json:"remove,omitempty"`
	Messages []thread.Message `json:"messages,omitempty"`
}

// Replaced is a list of artifacts that takes the place of the one there is; an
// empty one empties it.
type Replaced struct {
	Paths []string `json:"paths"`
}

// UpdateStateResult names the checkpoint that the update made.
type UpdateStateResult struct {
	CheckpointID string `json:"checkpoint_id"`
}

// Compact asks for a compaction of a thread that no run is active on.
type Compact struct {
	ID      string            `json:"id"` // begins with [thread.UpdatePrefix]
	Force   bool              `json:"force,omitempty"`
	Keep    int               `json:"keep,omitempty"` // messages; 0: as configured
	Model   string            `json:"model,omitempty"`
	Options thread.RunOptions `json:"options"`
}

// CompactResult tells what a compaction did.
type CompactResult struct {
	Compacted      bool   `json:"compacted"`
	Reason         string `json:"reason,omitempty"` // why nothing was done
	Removed        int    `json:"removed_message_count"`
	Preserved      int    `json:"preserved_message_count"`
	SummaryUpdated bool   `json:"summary_updated"`
	CheckpointID   string `json:"checkpoint_id,omitempty"`
	TotalTokens    int    `json:"total_tokens"` // of what the model reads now
}
