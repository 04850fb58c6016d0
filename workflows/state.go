package workflows

import (
	"encoding/json"
	"fmt"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// stateVersion is the version of the carried state and of checkpoints.
const stateVersion = 1

// threadState is what a thread carries over a continue-as-new, and, without
// what the store has anyway, what its checkpoints hold. It stays small: no
// bodies, no digests.
type threadState struct {
	Version    int                `json:"version"`
	Cursor     thread.Cursor      `json:"cursor"`
	NextPos    int64              `json:"next_pos"`
	State      thread.State       `json:"state"`
	Loop       *loop              `json:"loop,omitempty"`
	Interrupts []thread.Interrupt `json:"interrupts,omitempty"`
	Commits    uint32             `json:"commits"`
	Checkpoint string             `json:"checkpoint,omitempty"` // id of the newest
	Failed     bool               `json:"failed,omitempty"`     // the last run ended with an error

	// Only carried, never in a checkpoint: the store's rows say the same.
	Queue   []queuedRun       `json:"queue,omitempty"`
	Taken   []string          `json:"taken,omitempty"` // ids of runs, newest last
	Made    int               `json:"made,omitempty"`  // runs that the workflow itself made
	Pending *step.CommitInput `json:"pending,omitempty"`
	Late    *late             `json:"late,omitempty"`
	// Changes that no commit has taken yet.
	Update    thread.StateUpdate `json:"update"`
	Revisions []thread.Revision  `json:"revisions,omitempty"`
	Fresh     []step.NewMessage  `json:"fresh,omitempty"`
	// Due: a turn has ended whose commit is to ride on the next model call.
	Due bool `json:"due,omitempty"`
	// For people: what the search attributes say, and what they are made of.
	Shown    string `json:"shown,omitempty"`
	Question string `json:"question,omitempty"`
	Tokens   int    `json:"tokens,omitempty"`
}

// late is what was asked for while the workflow continued as new.
type late struct {
	Cancel  *step.CancelRun `json:"cancel,omitempty"`
	Dropped []queuedRun     `json:"dropped,omitempty"`
	Close   bool            `json:"close,omitempty"`
	Back    bool            `json:"back,omitempty"`
}

// loop is the turn loop of a question: from the message that starts it to the
// answer, over all clarifications and the API runs that these take.
type loop struct {
	Version  int                        `json:"version"`           // of the rules it goes by, from its start to its end
	RunID    string                     `json:"run_id"`            // the API run that it works for, or worked for last
	Waiting  bool                       `json:"waiting,omitempty"` // it stands still with a question
	Options  thread.RunOptions          `json:"options"`
	PlanHash string                     `json:"plan_hash"`
	Plan     agent.Summary              `json:"plan"` // left out of checkpoints
	Turn     int                        `json:"turn"` // model calls made
	Step     int                        `json:"step"` // of the API run
	Memory   map[string]json.RawMessage `json:"memory,omitempty"`
	// Of the API run, for its row.
	Usage      thread.Usage `json:"usage"`
	ModelCalls int          `json:"model_calls"`
	StopReason string       `json:"stop_reason,omitempty"`
	// Next is the submission that the API run came with, until it has started.
	Next   *queuedRun  `json:"next,omitempty"`
	Intake step.Intake `json:"intake,omitzero"`
	// Before is where a rollback returns to.
	Before before `json:"before"`
	// Started: the run's messages are in view; a loop that is taken up again
	// does not start its run twice.
	Started bool `json:"started,omitempty"`
}

// before is the state from before an API run.
type before struct {
	Cursor thread.Cursor `json:"cursor"`
	State  thread.State  `json:"state"`
}

// queuedRun is a submission that waits for its turn.
type queuedRun struct {
	step.SubmitRun
	// Stop: it is only started to be ended in order.
	Stop bool `json:"stop,omitempty"`
	// Message is set for a run that the workflow itself makes.
	Message *thread.Message `json:"message,omitempty"`
	// LoopVersion is that of a run which had started when its workflow was lost.
	LoopVersion int `json:"loop_version,omitempty"`
}

// checkpointed is the part of the state that goes into a checkpoint. The cursor
// and the state stand in the commit beside it, the plan under its hash.
type checkpointed struct {
	step.CheckpointHeader
	Version int             `json:"version"`
	Loop    *checkpointLoop `json:"loop,omitempty"`
	Commits uint32          `json:"commits"`
	Made    int             `json:"made,omitempty"`
}

type checkpointLoop struct {
	loop
	Plan struct{} `json:"plan"` // hides the plan's summary
}

// checkpoint encodes what a restart needs.
func (s *threadState) checkpoint() (json.RawMessage, error) {
	c := checkpointed{Version: stateVersion, Commits: s.Commits, Made: s.Made}
	if s.Loop != nil {
		c.PlanHash = s.Loop.PlanHash
		c.Loop = &checkpointLoop{loop: *s.Loop}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	return data, nil
}

// restore takes what a checkpoint and the commit around it hold, and the plan
// that its loop goes by.
func (s *threadState) restore(head *step.Head, plan *agent.Summary) error {
	var c checkpointed
	if err := json.Unmarshal(head.Data, &c); err != nil {
		return fmt.Errorf("read checkpoint %s: %w", head.ID, err)
	}
	if err := checkState(c.Version); err != nil {
		return err
	}
	if c.Loop != nil {
		l := c.Loop.loop
		if plan != nil {
			l.Plan = *plan
		}
		s.Loop = &l
	}
	s.Commits, s.Made = c.Commits, c.Made
	s.Cursor, s.NextPos, s.State = head.Cursor, head.NextPos, head.State
	s.Interrupts, s.Checkpoint = head.Interrupts, head.ID
	s.Failed = head.Status == thread.StatusError
	return nil
}
