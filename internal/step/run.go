package step

import (
	"encoding/json"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// Ref names a step of a run: the key under which its effects are idempotent.
type Ref struct {
	Thread string `json:"thread"`
	User   string `json:"user"`
	Run    string `json:"run"`
	Step   int    `json:"step"`
}

// LoadThreadInput asks for the head of a thread.
type LoadThreadInput struct {
	Thread string `json:"thread"`
	// Carried: the workflow continues as new and has its own state; only the
	// digests in view are wanted.
	Carried bool `json:"carried,omitempty"`
	// Stopped: all runs that are taken up are to be ended.
	Stopped bool          `json:"stopped,omitempty"`
	Cursor  thread.Cursor `json:"cursor"`
	// Only, when it names messages: the digests of these alone are wanted, also of
	// those that the model does not read any more.
	Only []string `json:"only,omitempty"`
}

// LoadThreadResult is the head of a thread. Head is nil for a thread that has
// no checkpoint yet.
type LoadThreadResult struct {
	Head    *Head           `json:"head,omitempty"`
	Digests []thread.Digest `json:"digests,omitempty"`
	Plan    *agent.Summary  `json:"plan,omitempty"` // of the head's loop
	// Running are the runs that have started and not ended, oldest first: a
	// workflow that was lost, or ended from outside, goes on with them.
	Running []RunningRun `json:"running,omitempty"`
	// Unfinished is of those of them that are to be stopped.
	Unfinished []Unfinished `json:"unfinished,omitempty"`
	// Ended are the ids of the newest runs that have ended: submissions of
	// these are repeats.
	Ended []string `json:"ended,omitempty"`
}

// RunningRun is a run that has started and not ended, as it was submitted.
type RunningRun struct {
	SubmitRun
	// LoopVersion is the version of the turn loop that it began with; 0 means the
	// first.
	LoopVersion int `json:"loop_version,omitempty"`
}

// Unfinished is what the steps of a run had made since the newest checkpoint, and
// what they had begun, when its workflow was lost. Only the seals of tool calls
// have positions.
type Unfinished struct {
	Run   string          `json:"run"`
	Made  []thread.Digest `json:"made,omitempty"`
	Seals []Seal          `json:"seals,omitempty"`
}

// CheckpointHeader is the part of a checkpoint's data that an activity reads.
type CheckpointHeader struct {
	PlanHash string `json:"plan_hash,omitempty"`
}

// Head is the newest checkpoint of a thread.
type Head struct {
	ID         string             `json:"id"`
	Data       json.RawMessage    `json:"data"`
	Cursor     thread.Cursor      `json:"cursor"`
	NextPos    int64              `json:"next_pos"`
	State      thread.State       `json:"state"`
	Status     thread.Status      `json:"status"`
	Interrupts []thread.Interrupt `json:"interrupts,omitempty"`
}

// StartRunInput starts a run whose row and messages the API has stored, or,
// with Message set, one that came from inside (an answer by signal).
type StartRunInput struct {
	Ref
	Pos int64 `json:"pos"` // of the run's first message
	// Parent is the checkpoint that the run starts from; empty for none.
	Parent  *string           `json:"parent,omitempty"`
	Options thread.RunOptions `json:"options"`
	Message *thread.Message   `json:"message,omitempty"`
	// Answers are the questions that this run answers, closed in the same commit.
	Answers []string `json:"answers,omitempty"`
	// Stop: the run is only started to be ended; what it has made so far, in a
	// workflow that is gone, comes into view with its messages.
	Stop bool `json:"stop,omitempty"`
	// LastDay is the newest ISO date that the transcript in view tells; a run on
	// another day tells the new one. Empty: nothing in view tells the date or what
	// is remembered.
	LastDay string `json:"last_day,omitempty"`
	// KeepPlan is the plan of a loop that goes on after a question; a model that
	// has left the config is resolved anew.
	KeepPlan string `json:"keep_plan,omitempty"`
	// LoopVersion is the version of the turn loop that the run goes by; it comes
	// back in the result.
	LoopVersion int `json:"loop_version,omitempty"`
}

// StartRunResult is what the loop decides by.
type StartRunResult struct {
	PlanHash string             `json:"plan_hash"`
	Plan     agent.Summary      `json:"plan"`
	Messages []thread.Digest    `json:"messages,omitempty"`
	State    thread.StateUpdate `json:"state"`
	Intake   Intake             `json:"intake,omitzero"`
	// LoopVersion is the one of the input: what the history remembers, and a
	// replay by another binary goes by. Older binaries leave it out.
	LoopVersion int `json:"loop_version,omitempty"`
}

// Intake is what the start of a run found out for the before-run hooks. The
// texts for the model stand as context blocks on the run's last message.
type Intake struct {
	Day     string                `json:"day,omitempty"`     // ISO date, in the user's zone
	Message string                `json:"message,omitempty"` // id of the message that has the context
	Uploads []thread.UploadedFile `json:"uploads,omitempty"` // that came with the message
	Skill   *SkillIntake          `json:"skill,omitempty"`
}

// SkillIntake is what became of a message that begins with /name.
type SkillIntake struct {
	Ref thread.SkillRef `json:"ref"`
	// Refusal tells the user why the skill cannot be used; no model is called.
	Refusal string `json:"refusal,omitempty"`
}

// CallModelInput is one model call. Edits are applied to the rows that the
// cursor shows; Commit is done first.
type CallModelInput struct {
	Ref
	MessageID string        `json:"message_id"`
	Pos       int64         `json:"pos"`
	Turn      int           `json:"turn"`
	PlanHash  string        `json:"plan_hash"`
	Cursor    thread.Cursor `json:"cursor"`
	Edits     []agent.Edit  `json:"edits,omitempty"`
	// NoTools asks for an answer without tools; history is kept valid.
	NoTools bool `json:"no_tools,omitempty"`
	// Hidden are tools of the plan that this request does not offer.
	Hidden []string `json:"hidden,omitempty"`
	// Attribute: the message is stored with what its tokens went to.
	Attribute bool         `json:"attribute,omitempty"`
	Commit    *CommitInput `json:"commit,omitempty"`
}

// CallModelResult is what the row holds, in brief.
type CallModelResult struct {
	Message      thread.Digest `json:"message"`
	FinishReason string        `json:"finish_reason,omitempty"`
	// Safety: the provider ended the answer for safety.
	Safety bool         `json:"safety,omitempty"`
	Usage  thread.Usage `json:"usage"`
}

// ModelFailure is the detail of a model error that ended its retries.
type ModelFailure struct {
	Reason     string `json:"reason"` // quota, auth, busy, transient, context_length, generic
	Message    string `json:"message"`
	Status     int    `json:"status,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds
}

// CallToolInput is one tool call. The arguments stay in the row of the message
// that asks for it. With Reply set, the tool is not run and the reply is its
// result.
type CallToolInput struct {
	Ref
	MessageID string       `json:"message_id"` // of the result
	Pos       int64        `json:"pos"`
	Asker     string       `json:"asker"`     // id of the message that asks
	AskerPos  int64        `json:"asker_pos"` // its position
	Position  int          `json:"position"`  // of the call in it
	Call      string       `json:"call"`      // its id
	Name      string       `json:"name"`
	PlanHash  string       `json:"plan_hash"`
	Reply     *Reply       `json:"reply,omitempty"`
	Rules     ToolRules    `json:"rules,omitzero"`
	Commit    *CommitInput `json:"commit,omitempty"`
}

// ToolRules are what middlewares ask of one call. The activity follows them,
// since the workflow sees neither arguments nor results in full.
type ToolRules struct {
	// Budget bounds the result; its limits stand in the plan.
	Budget bool `json:"budget,omitempty"`
	// Neutralize escapes framework tags in the result.
	Neutralize bool `json:"neutralize,omitempty"`
	// CheckRead: a file that exists is only changed in the state that Seen names.
	CheckRead bool   `json:"check_read,omitempty"`
	Seen      string `json:"seen,omitempty"` // hash of the file as the model saw it; empty: never
	// Sandbox is the one that the thread works in; another one is an error.
	Sandbox string `json:"sandbox,omitempty"`
	// Note is added to the result.
	Note string `json:"note,omitempty"`
}

// SideAttempts is how often an activity is tried that has a way without its
// model.
const SideAttempts = 3

// SummarizeInput compacts a part of a transcript into one message.
type SummarizeInput struct {
	Ref
	MessageID string        `json:"message_id"`
	Pos       int64         `json:"pos"`
	PlanHash  string        `json:"plan_hash"`
	Cursor    thread.Cursor `json:"cursor"`             // the rows to summarise
	Previous  *int64        `json:"previous,omitempty"` // position of the summary so far
	Model     string        `json:"model,omitempty"`    // asked for by name; empty: as configured
	// Plain: when no model can write it, old results are left out and the summary
	// says so, instead of an error.
	Plain  bool         `json:"plain,omitempty"`
	Count  int          `json:"count,omitempty"` // messages that are summarised, for readers
	Commit *CommitInput `json:"commit,omitempty"`
}

// SummarizeResult is the message that holds the summary. Without one, Failed
// says why.
type SummarizeResult struct {
	Message *thread.Digest `json:"message,omitempty"`
	Failed  string         `json:"failed,omitempty"`
	Usage   thread.Usage   `json:"usage"`
}

// ResolvePlanInput asks for the plan of work on a thread that is no run.
type ResolvePlanInput struct {
	Ref
	Options thread.RunOptions `json:"options"`
}

// ResolvePlanResult is what the work decides by.
type ResolvePlanResult struct {
	PlanHash string        `json:"plan_hash"`
	Plan     agent.Summary `json:"plan"`
}

// MakeTitleInput asks a model for a thread's title.
type MakeTitleInput struct {
	Ref
	PlanHash string `json:"plan_hash"`
	Message  string `json:"message"` // id of the user's first message
	Pos      int64  `json:"pos"`
}

// MakeTitleResult is empty when no title could be made.
type MakeTitleResult struct {
	Title string       `json:"title,omitempty"`
	Usage thread.Usage `json:"usage"`
}

// Reply stands in for a tool's result.
type Reply struct {
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// CallToolResult is what the row holds, in brief, and what the tool changes.
type CallToolResult struct {
	Message   thread.Digest      `json:"message"`
	State     thread.StateUpdate `json:"state"`
	Interrupt *thread.Interrupt  `json:"interrupt,omitempty"`
	Goto      Goto               `json:"goto,omitempty"`
	Usage     *thread.Usage      `json:"usage,omitempty"` // of models that the tool used
}

// Goto is where the loop goes after a step; empty is its usual way.
type Goto string

// The jumps of the loop.
const (
	GotoModel Goto = "model"
	GotoEnd   Goto = "end"
)
