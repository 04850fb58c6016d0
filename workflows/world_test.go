package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// world stands in for the activities and the store: it keeps what a workflow
// made of them, and breaks the test where a rule of the contract is broken.
type world struct {
	t    *testing.T
	env  *testsuite.TestWorkflowEnvironment
	mu   sync.Mutex
	plan agent.Summary
	// intake is what the start of a run found out.
	intake step.Intake

	// model answers the call of a turn; the digest's id and position are set
	// for it.
	model func(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error)
	// tool answers a call that is run; the message is made for it.
	tool func(ctx context.Context, in step.CallToolInput) (step.CallToolResult, error)

	head    step.LoadThreadResult
	texts   map[string][]string // messages of submitted runs
	started []step.StartRunInput
	calls   []step.CallModelInput
	tooled  []step.CallToolInput
	commits []step.CommitInput
	broken  int   // commits that fail before one succeeds
	refusal error // of every commit from now on
	ahead   int   // by how much loops are of a later version than this program's
	// goneRuns were withdrawn before they started.
	goneRuns []string
	keys     map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment(), texts: map[string][]string{}, keys: map[string]bool{}}
	w.plan = agent.Summary{
		Agent: "lead_agent", Model: "test", MaxTurns: 20,
		Tools:     []agent.Brief{{Name: "ls", Class: agent.ClassRead}, {Name: "bash", Class: agent.ClassUnsafe}, {Name: "ask_clarification", Class: agent.ClassRead}},
		ModelCall: agent.ModelCallPolicy{Timeout: time.Minute, MaxAttempts: 3, BaseDelay: time.Second, MaxDelay: time.Second},
		Loop:      agent.LoopSettings{Enabled: true, Warn: 3, Hard: 5, Window: 20, FreqWarn: 30, FreqHard: 50},
	}
	w.env.SetTestTimeout(20 * time.Second)
	w.env.RegisterWorkflow(Thread)
	w.register(step.LoadThread, func(_ context.Context, _ step.LoadThreadInput) (step.LoadThreadResult, error) { return w.head, nil })
	w.register(step.StartRun, w.startRun)
	w.register(step.CallModel, w.callModel)
	w.register(step.CallTool, w.callTool)
	w.register(step.Commit, func(_ context.Context, in step.CommitInput) (step.CommitResult, error) { return w.commit(in) })
	return w
}

func (w *world) register(name string, fn any) {
	w.env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}

func (w *world) startRun(_ context.Context, in step.StartRunInput) (step.StartRunResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.goneRuns, in.Run) {
		return step.StartRunResult{}, temporal.NewNonRetryableApplicationError("taken back", step.ErrRunGone, nil)
	}
	w.started = append(w.started, in)
	out := step.StartRunResult{PlanHash: "plan", Plan: w.plan, Intake: w.intake, LoopVersion: in.LoopVersion + w.ahead}
	texts := w.texts[in.Run]
	if in.Message != nil {
		texts = []string{in.Message.Content.String()}
	}
	for i, text := range texts {
		m := thread.Human(fmt.Sprintf("%s-in-%d", in.Run, i), text)
		out.Messages = append(out.Messages, m.Digest(in.Pos+int64(i)))
	}
	return out, nil
}

func (w *world) callModel(ctx context.Context, in step.CallModelInput) (step.CallModelResult, error) {
	if in.Commit != nil {
		if _, err := w.commit(*in.Commit); err != nil {
			return step.CallModelResult{}, err
		}
	}
	w.mu.Lock()
	w.calls = append(w.calls, in)
	w.mu.Unlock()
	out, err := w.model(ctx, in)
	out.Message.ID, out.Message.Pos, out.Message.Role = in.MessageID, in.Pos, thread.RoleAI
	return out, err
}

func (w *world) callTool(ctx context.Context, in step.CallToolInput) (step.CallToolResult, error) {
	w.mu.Lock()
	w.tooled = append(w.tooled, in)
	w.mu.Unlock()
	var out step.CallToolResult
	var err error
	if in.Reply == nil {
		out, err = w.tool(ctx, in)
	} else {
		out.Message.Error = in.Reply.Error
		out.Message.Text = in.Reply.Text
	}
	out.Message.ID, out.Message.Pos, out.Message.Role, out.Message.CallID = in.MessageID, in.Pos, thread.RoleTool, in.Call
	return out, err
}

func (w *world) commit(in step.CommitInput) (step.CommitResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refusal != nil {
		return step.CommitResult{}, w.refusal
	}
	if w.broken > 0 {
		w.broken--
		return step.CommitResult{}, fmt.Errorf("database is locked")
	}
	var out step.CommitResult
	for _, s := range in.Seals {
		m := s.Fallback
		if s.Stream {
			m = thread.Message{ID: s.MessageID, Role: thread.RoleAI, Content: thread.Text("half an ans")}
		}
		out.Messages = append(out.Messages, m.Digest(s.Pos))
	}
	for _, m := range in.Messages {
		out.Messages = append(out.Messages, m.Message.Digest(m.Pos))
	}
	key := fmt.Sprintf("%s/%d", in.Run, in.Step)
	if w.keys[key] {
		return out, nil
	}
	w.keys[key] = true
	if n := len(w.commits); n > 0 && w.commits[n-1].CheckpointID >= in.CheckpointID {
		w.t.Errorf("checkpoint ids must grow: %s came after %s", in.CheckpointID, w.commits[n-1].CheckpointID)
	}
	w.commits = append(w.commits, in)
	return out, nil
}

// last is the newest commit.
func (w *world) last() step.CommitInput {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(w.t, w.commits, "nothing was committed")
	return w.commits[len(w.commits)-1]
}

// ends lists how runs ended, in order.
func (w *world) ends() []thread.End {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ends []thread.End
	for _, c := range w.commits {
		ends = append(ends, c.Ends...)
	}
	return ends
}

// outcome collects what became of an update.
type outcomeOf[T any] struct {
	value    T
	err      error
	complete bool
	then     []func() // called when the update has completed
}

func (o *outcomeOf[T]) Accept()          {}
func (o *outcomeOf[T]) Reject(err error) { o.err, o.complete = err, true }
func (o *outcomeOf[T]) Complete(v any, err error) {
	o.complete, o.err = true, err
	if err == nil {
		o.value, _ = v.(T)
	}
	for _, f := range o.then {
		f()
	}
}

// submit sends a run at a time of the test's clock.
func (w *world) submit(at time.Duration, s step.SubmitRun, texts ...string) *outcomeOf[step.SubmitResult] {
	out := &outcomeOf[step.SubmitResult]{}
	w.texts[s.RunID] = texts
	s.Messages = len(texts)
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateSubmitRun, "submit-"+s.RunID, out, s)
	}, at)
	return out
}

// together sends two runs in one workflow task, in this order; then
// is done when the second was taken.
func (w *world) together(first, second step.SubmitRun, then ...func()) *outcomeOf[step.SubmitResult] {
	out := &outcomeOf[step.SubmitResult]{then: then}
	w.texts[first.RunID], w.texts[second.RunID] = []string{"one"}, []string{"two"}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateSubmitRun, "submit-"+first.RunID, &outcomeOf[step.SubmitResult]{}, first)
		w.env.UpdateWorkflow(step.UpdateSubmitRun, "submit-"+second.RunID, out, second)
	}, 0)
	return out
}

// stop sends a stop at a time of the test's clock. With 0 it may be
// called by a fake activity, which is then known to be running.
func (w *world) stop(at time.Duration, r step.CancelRun) *outcomeOf[step.CancelResult] {
	out := &outcomeOf[step.CancelResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateCancelRun, fmt.Sprint("cancel-", at), out, r)
	}, at)
	return out
}

func (w *world) answer(at time.Duration, a step.Answer) *outcomeOf[step.AnswerResult] {
	out := &outcomeOf[step.AnswerResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateAnswer, fmt.Sprint("answer-", at), out, a)
	}, at)
	return out
}

func (w *world) update(at time.Duration, u step.UpdateState) *outcomeOf[step.UpdateStateResult] {
	out := &outcomeOf[step.UpdateStateResult]{}
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(step.UpdateSetState, u.ID, out, u)
	}, at)
	return out
}

// run plays the workflow until it has been idle for a while.
func (w *world) run() {
	w.t.Helper()
	w.runWith(step.ThreadInput{Version: 1, Thread: "t1", User: "default", Settings: step.ThreadSettings{IdleTimeout: 100 * time.Hour}})
}

func (w *world) runWith(in step.ThreadInput) {
	w.t.Helper()
	w.env.ExecuteWorkflow(Thread, in)
	require.True(w.t, w.env.IsWorkflowCompleted(), "the workflow did not end")
}

// hang is an activity that ends by a cancel alone. The test environment tells
// it by its heartbeat.
func hang(ctx context.Context) error {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func says(text string) (step.CallModelResult, error) {
	return step.CallModelResult{Message: thread.Digest{Text: text}, FinishReason: "stop", Usage: thread.Usage{TotalTokens: 10}}, nil
}

func asks(calls ...thread.CallDigest) (step.CallModelResult, error) {
	for i := range calls {
		if calls[i].Key == "" {
			calls[i].Key = calls[i].Name + string(calls[i].Args) + calls[i].ID
		}
	}
	return step.CallModelResult{Message: thread.Digest{Calls: calls}, FinishReason: "tool_calls", Usage: thread.Usage{TotalTokens: 10}}, nil
}

func call(id, name string) thread.CallDigest {
	return thread.CallDigest{ID: id, Name: name, Args: json.RawMessage(`{"path":"/mnt/user-data"}`)}
}

func question(id string) (step.CallToolResult, error) {
	return step.CallToolResult{Interrupt: &thread.Interrupt{
		ID: thread.ClarificationID(id), Value: thread.Card{Question: "Which one?", RequestID: thread.ClarificationID(id)},
	}}, nil
}

func hasEdit(in step.CallModelInput, name string) bool {
	return slices.ContainsFunc(in.Edits, func(e agent.Edit) bool { return e.Name == name })
}

func carriedInput(next *workflow.ContinueAsNewError, in *step.ThreadInput) error {
	return converter.GetDefaultDataConverter().FromPayloads(next.Input, in)
}
