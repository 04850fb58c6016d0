package api

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// epoch is the time at which played runs happen.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// player plays the workflow of a thread: it writes to the store what the
// activities of a run would.
type player struct {
	e       *env
	t       *testing.T
	thread  string
	run     string
	step    int
	pos     int64
	cursor  thread.Cursor
	state   thread.State
	parent  string
	commits int
}

// play begins to play a thread.
func (e *env) play(t *testing.T, threadID string) *player {
	t.Helper()
	return &player{e: e, t: t, thread: threadID}
}

func (p *player) ref() step.Ref {
	return step.Ref{Thread: p.thread, User: defaultUser, Run: p.run, Step: p.step}
}

// start takes up a run that the API has stored.
func (p *player) start(run string, answers ...string) {
	p.t.Helper()
	p.run, p.step = run, 0
	rows, err := p.e.store.StartRun(p.e.ctx, store.StartRun{
		Ref: p.ref(), Pos: p.pos, PlanHash: "plan", Plan: []byte("{}"), Answers: answers, At: epoch(),
	})
	require.NoError(p.t, err)
	p.extend(len(rows))
}

func (p *player) extend(n int) {
	for range n {
		p.cursor.Extend(p.pos)
		p.pos++
	}
}

// stream plays a model call up to its end: a claim, then the deltas.
func (p *player) stream(deltas ...store.Delta) store.Owner {
	p.t.Helper()
	p.step++
	return p.again(deltas...)
}

// again plays one more attempt of the call that was begun last.
func (p *player) again(deltas ...store.Delta) store.Owner {
	p.t.Helper()
	id := thread.MessageID(p.run, p.step)
	claim, err := p.e.store.Claim(p.e.ctx, store.Claim{Ref: p.ref(), MessageID: id})
	require.NoError(p.t, err)
	owner := store.Owner{Ref: p.ref(), MessageID: id, Claim: claim.Claim}
	for _, d := range deltas {
		p.delta(owner, d)
	}
	return owner
}

func (p *player) delta(owner store.Owner, d store.Delta) {
	p.t.Helper()
	d.MessageID = owner.MessageID
	require.NoError(p.t, p.e.store.Append(p.e.ctx, owner, store.NewEvent{Type: store.EventDelta, Data: d}))
}

// finish completes a message.
func (p *player) finish(owner store.Owner, m thread.Message) thread.Message {
	p.t.Helper()
	m.ID = owner.MessageID
	_, err := p.e.store.Finish(p.e.ctx, owner, store.NewRow{Pos: p.pos, Message: m})
	require.NoError(p.t, err)
	p.extend(1)
	return m
}

// model plays a whole model call that streams its text in pieces.
func (p *player) model(pieces ...string) thread.Message {
	p.t.Helper()
	deltas, text := make([]store.Delta, len(pieces)), ""
	for i, piece := range pieces {
		deltas[i].Text = piece
		text += piece
	}
	return p.finish(p.stream(deltas...), aiMessage(text))
}

// aiMessage is a final message with usage.
func aiMessage(text string, calls ...thread.ToolCall) thread.Message {
	return thread.Message{
		Role: thread.RoleAI, Content: thread.Text(text), ToolCalls: calls,
		ResponseMetadata: map[string]any{"finish_reason": "stop", "model_name": "demo"},
		Usage:            &thread.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15},
	}
}

// call plays a model call that asks for one tool.
func (p *player) call(name, args string) thread.ToolCall {
	p.t.Helper()
	p.step++
	call := thread.ToolCall{Name: name, Args: json.RawMessage(args), ID: fmt.Sprintf("call_%d", p.step), Type: "tool_call"}
	half := len(args) / 2
	owner := p.again(
		store.Delta{Reasoning: "I should look."},
		store.Delta{ToolCalls: []store.ToolCallDelta{{Index: 0, ID: call.ID, Name: name, Args: args[:half]}}},
		store.Delta{ToolCalls: []store.ToolCallDelta{{Index: 0, Args: args[half:]}}},
	)
	m := aiMessage("", call)
	m.SetKwarg(thread.KeyReasoning, "I should look.")
	m.ResponseMetadata["finish_reason"] = "tool_calls"
	p.finish(owner, m)
	return call
}

// tool plays a tool call with its result.
func (p *player) tool(call thread.ToolCall, text string) thread.Message {
	p.t.Helper()
	p.step++
	return p.finish(p.again(), thread.ToolResult("", call, thread.ToolSuccess, text))
}

// checkpointID sorts by creation, as those of a workflow do.
func (p *player) checkpointID() string {
	p.commits++
	return fmt.Sprintf("019b7ca9-8c88-7%03x-8000-000000000007", p.commits)
}

// commit plays the commit of a turn; change may alter it.
func (p *player) commit(change ...func(*step.CommitInput)) string {
	p.t.Helper()
	p.step++
	in := step.CommitInput{
		Ref: p.ref(), CheckpointID: p.checkpointID(), Parent: p.parent, At: epoch(),
		Checkpoint: json.RawMessage(`{"secret":"of the workflow"}`), Cursor: p.cursor.Clone(), NextPos: p.pos,
		Status: thread.StatusBusy, Next: []string{"model"},
	}
	for _, f := range change {
		f(&in)
	}
	require.NoError(p.t, p.state.Apply(in.Update))
	in.State = p.state.Clone()
	_, err := p.e.store.Commit(p.e.ctx, in, func(m *thread.Message, pos int64) thread.Digest { return m.Digest(pos) })
	require.NoError(p.t, err)
	for range in.Messages {
		p.extend(1)
	}
	p.parent = in.CheckpointID
	return in.CheckpointID
}

// update changes the state in a commit.
func update(u thread.StateUpdate) func(*step.CommitInput) {
	return func(in *step.CommitInput) { in.Update = u }
}

// ending ends the run in a commit.
func (p *player) ending(end thread.End) func(*step.CommitInput) {
	end.RunID = p.run
	return func(in *step.CommitInput) {
		in.Ends, in.Next, in.Status = []thread.End{end}, nil, thread.StatusIdle
		if end.Status == thread.RunError {
			in.Status = thread.StatusError
		}
	}
}

// success ends the run well.
func (p *player) success() string {
	p.t.Helper()
	return p.commit(p.ending(thread.End{
		Status: thread.RunSuccess, Usage: thread.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15}, ModelCalls: 1,
	}))
}

// ask ends the run with questions.
func (p *player) ask(questions ...thread.Interrupt) string {
	p.t.Helper()
	return p.commit(p.ending(thread.End{Status: thread.RunSuccess}), func(in *step.CommitInput) {
		in.Status, in.Interrupts, in.Next = thread.StatusInterrupted, questions, []string{"tools"}
	})
}

// question is a card with two options.
func question(call string) thread.Interrupt {
	id := thread.ClarificationID(call)
	return thread.Interrupt{ID: id, Value: thread.Card{
		Version: 1, Kind: "human_input_request", Source: "ask_clarification", RequestID: id, ToolCallID: call,
		ClarificationType: "missing_info", Question: "Which year?", InputMode: thread.InputChoice,
		Options: []thread.Option{{ID: "option-1", Label: "This year", Value: "2026"}, {ID: "option-2", Label: "Last year", Value: "2025"}},
	}}
}

// turn plays a whole simple run.
func (p *player) turn(run string, pieces ...string) {
	p.t.Helper()
	p.start(run)
	p.model(pieces...)
	p.success()
}

// story plays a run with everything in it: reasoning, a tool call, a custom
// event, an artifact, a retried model call, a title.
func (p *player) story(run string) {
	p.t.Helper()
	p.start(run)
	call := p.call("bash", `{"command":"ls"}`)
	p.commit()
	p.tool(call, "a.txt")
	p.commit(update(thread.StateUpdate{Artifacts: []string{"/mnt/user-data/outputs/a.md"}}))
	owner := p.stream(store.Delta{Text: "Wro"})
	require.NoError(p.t, p.e.store.Append(p.e.ctx, owner, store.NewEvent{
		Type: store.EventCustom, Data: map[string]any{"type": "llm_retry", "attempt": 1},
	}))
	p.finish(p.again(store.Delta{Text: "All "}, store.Delta{Text: "<done> 👍"}), aiMessage("All <done> 👍"))
	title := "Files"
	p.commit(update(thread.StateUpdate{Title: &title}))
	p.success()
}
