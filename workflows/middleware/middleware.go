package middleware

import (
	"encoding/json"
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Middleware is one link of the chain. Embed [Base] and override what is
// needed. Before hooks run first to last, after hooks last to first, and the
// first around hook is the outermost.
type Middleware interface {
	// Name is the fixed name under which order rules and saved state refer to
	// the middleware.
	Name() string
	// BeforeRun is called once an API run, when its messages are in view.
	BeforeRun(ctx workflow.Context, run *Run) (Update, error)
	// BeforeModel is called before each model call.
	BeforeModel(ctx workflow.Context, run *Run) (Update, error)
	// EditRequest adds edits for one model call. It is called once a turn: the
	// retries of that call send the same request.
	EditRequest(ctx workflow.Context, run *Run, request *Request) error
	// AroundModel wraps the model activity.
	AroundModel(ctx workflow.Context, run *Run, request *Request, next ModelCall) (ModelReply, error)
	// AfterModel is called with the model's message.
	AfterModel(ctx workflow.Context, run *Run, reply *ModelReply) (Update, error)
	// AroundTool wraps one tool call. It is called in a coroutine of its own:
	// all calls of a message run together.
	AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error)
	// AfterRun is called once an API run, also when it ends early.
	AfterRun(ctx workflow.Context, run *Run) (Update, error)
}

// Stateful is a middleware whose counters have to outlive a checkpoint or a
// continue-as-new.
type Stateful interface {
	Middleware
	// Save gives the state, small; nil for none.
	Save(ctx workflow.Context) (json.RawMessage, error)
	// Restore takes what Save gave.
	Restore(ctx workflow.Context, saved json.RawMessage) error
}

// Run is what a hook may look at. It is read only: changes go through an
// [Update].
type Run struct {
	ThreadID string
	RunID    string
	User     string // the owner of the thread
	Plan     *agent.Summary
	Options  thread.RunOptions
	Turn     int // model calls made so far in this loop
	// Messages are what the model reads, in order: after a compaction the summary
	// is the first.
	Messages []thread.Digest
	State    thread.State
	Intake   step.Intake  // what the start of the API run found out
	Usage    thread.Usage // of the API run so far
	Steps    Steps
	// Compacted is what the compaction before left; nil without one.
	Compacted *thread.Compacted
	// Apply stores an update at once: around hooks have no other way to give one.
	Apply Apply
}

// LastUser is the newest message of a user, nil if there is none in view.
func (r *Run) LastUser() *thread.Digest {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].UserText() {
			return &r.Messages[i]
		}
	}
	return nil
}

// Steps are the activities that a middleware may ask for. The loop names the
// step, its message and its place; the middleware gives the rest.
type Steps interface {
	// Summarize compacts the rows that in.Cursor shows. A cancel of the turn is
	// the error; a summary that could not be written is told by the result.
	Summarize(ctx workflow.Context, in step.SummarizeInput) (step.SummarizeResult, error)
	// MakeTitle asks a model for the title of the thread, at its own pace.
	MakeTitle(ctx workflow.Context, in step.MakeTitleInput) workflow.Future
}

// Update is what a hook wants stored, or where it wants the loop to go.
type Update struct {
	State     thread.StateUpdate
	Revisions []thread.Revision
	Goto      step.Goto
	// StopReason says why the run ends early; the first one set stays.
	StopReason string
	// Error ends the run with this text as its error.
	Error string
	// Messages are put at the end of the transcript: small ones of the framework.
	// The loop gives them their ids.
	Messages []thread.Message
	// Reply, of a before-run hook, ends the run with this message: no model is
	// called, and the hooks behind are skipped.
	Reply *thread.Message
	// Compact leaves out of the model's view what was summarised.
	Compact *Compaction
	// Usage of models that were called on the side is added to the run's.
	Usage *thread.Usage
}

// Compaction says what the model reads from now on: the summary, the rescued
// messages, and all from position Cut on.
type Compaction struct {
	Summary thread.Digest
	Cut     int64
	Rescued []int64
}

// Request is one model call as the workflow describes it.
type Request struct {
	Edits   []agent.Edit
	NoTools bool
	// Hidden are tools that this request does not offer.
	Hidden []string
	// Attribute: the answer is stored with what its tokens went to.
	Attribute bool
}

// Hide leaves tools out of the request.
func (r *Request) Hide(names ...string) {
	for _, name := range names {
		if !slices.Contains(r.Hidden, name) {
			r.Hidden = append(r.Hidden, name)
		}
	}
}

// Append puts a message of the framework after all others.
func (r *Request) Append(name, text string) {
	r.Edits = append(r.Edits, agent.Edit{Op: agent.EditAppend, Role: thread.RoleHuman, Name: name, Text: text})
}

// ModelCall makes the model call.
type ModelCall func(ctx workflow.Context, request *Request) (ModelReply, error)

// ModelReply is what came of a model call. With Fallback set the call failed
// for good, and that message, already worded for the user, takes its place.
type ModelReply struct {
	step.CallModelResult
	Fallback *thread.Message
}

// ToolCall is one call as the loop dispatches it.
type ToolCall struct {
	thread.CallDigest
	Asker    string // id of the message that asks
	Position int    // of the call in it
	Tool     agent.Brief
	Known    bool // the plan has this tool
	Alike    int  // calls of the same tool in the message, this one counted
	// Rules are what middlewares ask of the activity that makes the call.
	Rules step.ToolRules
}

// ToolHandler runs a call. A reply, when given, takes the place of the tool's
// result: the tool is not run.
type ToolHandler func(ctx workflow.Context, call *ToolCall, reply *step.Reply) (ToolReply, error)

// ToolReply is what came of a call.
type ToolReply struct {
	step.CallToolResult
	// Wait: the loop has to stand still with the result's interrupt.
	Wait bool
}

// Base does nothing; embed it.
type Base struct{}

// BeforeRun changes nothing.
func (Base) BeforeRun(workflow.Context, *Run) (Update, error) { return Update{}, nil }

// BeforeModel changes nothing.
func (Base) BeforeModel(workflow.Context, *Run) (Update, error) { return Update{}, nil }

// EditRequest changes nothing.
func (Base) EditRequest(workflow.Context, *Run, *Request) error { return nil }

// AroundModel calls the next one.
func (Base) AroundModel(ctx workflow.Context, _ *Run, request *Request, next ModelCall) (ModelReply, error) {
	return next(ctx, request)
}

// AfterModel changes nothing.
func (Base) AfterModel(workflow.Context, *Run, *ModelReply) (Update, error) { return Update{}, nil }

// AroundTool calls the next one.
func (Base) AroundTool(ctx workflow.Context, _ *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	return next(ctx, call, nil)
}

// AfterRun changes nothing.
func (Base) AfterRun(workflow.Context, *Run) (Update, error) { return Update{}, nil }
