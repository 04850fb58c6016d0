package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// fullCommit has one of everything.
func fullCommit(f *fixture) step.CommitInput {
	f.t.Helper()
	th := "t1"
	f.submit(th, "r1", "hi")
	f.commit(commitInput(ref(th, "r0", 1), 0, thread.StatusBusy))
	f.start(th, "r1", 0)
	f.finish(f.owner(ref(th, "r1", 2)), 1, "calling")
	streaming := f.owner(ref(th, "r1", 4))
	require.NoError(f.t, f.Append(f.ctx, streaming, delta(streaming, "half")))
	title := "Title"
	in := commitInput(ref(th, "r1", 5), 5, thread.StatusError)
	in.Parent, in.Next = "cp-r0-1", []string{"agent"}
	in.State = thread.State{Title: "Title", Artifacts: []string{"/mnt/user-data/outputs/a.md"}}
	in.Update = thread.StateUpdate{Title: &title}
	in.Interrupts = []thread.Interrupt{{ID: "i1", Value: thread.Card{Question: "which <one> & why?"}}}
	in.Messages = []step.NewMessage{{Pos: 4, Message: ai("r1-5", "made by the workflow")}}
	in.Seals = []step.Seal{
		{MessageID: "r1-4", Pos: 3, Stream: true},
		{MessageID: "r1-3", Pos: 2, Fallback: thread.ToolResult("r1-3", thread.ToolCall{ID: "c", Name: "bash"}, thread.ToolError, "stopped")},
	}
	in.Revisions = []thread.Revision{{MessageID: "r1-2", AppendText: "capped", Kwargs: map[string]any{"k": true}}, {MessageID: "none", AppendText: "x"}}
	in.Ends = []thread.End{{RunID: "r1", Status: thread.RunError, StopReason: thread.StopCancelled, Error: "bad\x00 \xffthing", Usage: thread.Usage{TotalTokens: 9}, ModelCalls: 2}}
	return in
}

func TestCommit(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		in := fullCommit(f)
		before := len(f.log(in.Thread))
		result := f.commit(in)
		ids := make([]string, len(result.Messages))
		for i, d := range result.Messages {
			ids[i] = d.ID
		}
		require.Equal(f.t, []string{"r1-3", "r1-4", "r1-5"}, ids)
		events := f.log(in.Thread)
		require.Equal(f.t, "message message message message checkpoint run.end", types(events[before:]))
		require.JSONEq(f.t, `{"id":"r1-2","rev":1,"role":"ai"}`, string(events[before+3].Data))
		require.JSONEq(f.t, `{"run_id":"r1","status":"error","stop_reason":"cancelled","error":"bad\u0000 \ufffdthing","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":9},"model_calls":2}`,
			string(events[before+5].Data))
		require.Equal(f.t, []string{"hi", "calling\n\ncapped", "stopped", "half", "made by the workflow"}, f.viewTexts(in.Thread))

		th, err := f.GetThread(f.ctx, in.Thread)
		require.NoError(f.t, err)
		require.Equal(f.t, in.State, th.State)
		require.Equal(f.t, in.Interrupts, th.Interrupts)
		require.Equal(f.t, in.CheckpointID, th.CheckpointID)
		require.Equal(f.t, thread.StatusError, th.Status)
		require.Equal(f.t, "bad� �thing", th.Error)
		require.Equal(f.t, at, th.StateUpdatedAt)
		cp, err := f.GetCheckpoint(f.ctx, in.Thread, in.CheckpointID)
		require.NoError(f.t, err)
		require.Equal(f.t, Checkpoint{
			ID: in.CheckpointID, ThreadID: in.Thread, RunID: "r1", Parent: "cp-r0-1", Step: 5, Seq: int64(before + 5), At: at,
			Data: in.Checkpoint, Cursor: in.Cursor, NextPos: 5, State: in.State, Status: in.Status,
			Interrupts: in.Interrupts, Next: in.Next,
		}, cp)
		run, err := f.GetRun(f.ctx, in.Thread, "r1")
		require.NoError(f.t, err)
		require.Equal(f.t, thread.RunError, run.Status)
		require.Equal(f.t, 9, run.Usage.TotalTokens)
		require.Equal(f.t, 2, run.ModelCalls)
	})
}

// The same commit again, one after the other and many at once, gives the same
// and writes nothing; also after later commits revised its messages.
func TestCommitIdempotent(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		in := fullCommit(f)
		const repeats = 8
		results := make([]step.CommitResult, repeats)
		errs := make([]error, repeats)
		var wg sync.WaitGroup
		for i := range repeats {
			wg.Go(func() { results[i], errs[i] = f.Commit(f.ctx, in, plainDigest) })
		}
		wg.Wait()
		for i := range repeats {
			require.NoError(f.t, errs[i])
			require.Equal(f.t, results[0], results[i])
		}
		require.Len(f.t, results[0].Messages, 3)

		later := commitInput(ref(in.Thread, "r1", 6), 5, thread.StatusIdle)
		later.Revisions = []thread.Revision{{MessageID: "r1-5", AppendText: "changed later"}}
		f.commit(later)
		log := f.log(in.Thread)
		require.Equal(f.t, results[0], f.commit(in))
		require.Equal(f.t, log, f.log(in.Thread))
		require.Equal(f.t, 3, f.count("checkpoints"))
		th, err := f.GetThread(f.ctx, in.Thread)
		require.NoError(f.t, err)
		require.Equal(f.t, later.CheckpointID, th.CheckpointID, "a late repeat does not move the thread back")
	})
}

// What a client puts into the state is stamped as what a run brings; what the
// framework makes is not: by that the two are told apart.
func TestCommitStampsMessagesOfClients(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		hidden := thread.Human("h1", "made")
		hidden.SetKwarg(thread.KeyHidden, true)
		for i, run := range []string{"r1", thread.UpdatePrefix + "1"} {
			in := commitInput(ref(th, run, i+1), int64(i+1), thread.StatusIdle)
			message := hidden
			message.ID = run
			in.Messages = []step.NewMessage{{Pos: int64(i), Message: message}, {Pos: int64(i + 5), Message: ai(run+"-ai", "x")}}
			f.commit(in)
			row, err := f.GetMessage(f.ctx, th, run)
			require.NoError(f.t, err)
			require.Equal(f.t, thread.IsUpdate(run), row.Message.FromUser())
			_, stamped := row.Message.AdditionalKwargs[thread.KeyTimestamp]
			require.Equal(f.t, thread.IsUpdate(run), stamped)
		}
		require.NotContains(f.t, hidden.AdditionalKwargs, thread.KeyTimestamp, "the caller's message is its own")
	})
}

// A message of the workflow under an id that is taken replaces it; the same
// content again is nothing new.
func TestCommitMessageTwice(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		for i, text := range []string{"card", "card", "other card"} {
			in := commitInput(ref(th, "r1", i+1), 1, thread.StatusInterrupted)
			in.Messages = []step.NewMessage{{Pos: 0, Message: ai("clarification:c1", text)}}
			result := f.commit(in)
			require.Equal(f.t, text, result.Messages[0].Text)
		}
		require.Equal(f.t, "message checkpoint checkpoint message checkpoint", types(f.log(th)))
		require.Equal(f.t, []string{"other card"}, f.viewTexts(th))

		// Whoever still writes that message is fenced.
		o := f.owner(ref(th, "r1", 9))
		in := commitInput(ref(th, "r1", 10), 2, thread.StatusIdle)
		in.Messages = []step.NewMessage{{Pos: 1, Message: ai(o.MessageID, "failed")}}
		f.commit(in)
		require.ErrorIs(f.t, f.Append(f.ctx, o, delta(o, "x")), ErrFenced)
	})
}

// The state is stored where it changes; all checkpoints show theirs.
func TestStateStoredOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		titles := []string{"", "", "A", "A", "A", "B", "A"}
		for i, title := range titles {
			in := commitInput(ref(th, "r1", i+1), int64(i), thread.StatusBusy)
			in.State.Title = title
			f.commit(in)
		}
		list, err := f.Checkpoints(f.ctx, th, CheckpointQuery{Limit: 100})
		require.NoError(f.t, err)
		require.Len(f.t, list, len(titles))
		for i, cp := range list {
			require.Equal(f.t, titles[len(titles)-1-i], cp.State.Title)
		}
		var stored int
		require.NoError(f.t, f.read(f.ctx, func(ctx context.Context, q querier) error {
			return get(f.ctx, q, `SELECT COUNT(*) FROM checkpoints WHERE state <> ''`, nil, &stored)
		}))
		require.Equal(f.t, 4, stored)

		page, err := f.Checkpoints(f.ctx, th, CheckpointQuery{Before: list[2].ID, Limit: 2})
		require.NoError(f.t, err)
		require.Equal(f.t, list[3:5], page)
		_, err = f.Checkpoints(f.ctx, th, CheckpointQuery{Before: "none"})
		require.ErrorIs(f.t, err, ErrNotFound)
		_, err = f.GetCheckpoint(f.ctx, th, "none")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}

// A workflow that has fallen behind writes nothing: neither a step that has a
// checkpoint of another one, nor one that does not follow the newest, nor a run.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		in := fullCommit(f)
		f.commit(in)
		f.submit(in.Thread, "r2", "next")
		log := f.log(in.Thread)
		again := in
		again.CheckpointID = "cp-of-another-attempt"
		_, err := f.Commit(f.ctx, again, plainDigest)
		require.ErrorIs(f.t, err, ErrOvertaken)
		behind := commitInput(ref(in.Thread, "r1", 6), 5, thread.StatusBusy)
		behind.Parent = "cp-r0-1"
		_, err = f.Commit(f.ctx, behind, plainDigest)
		require.ErrorIs(f.t, err, ErrOvertaken)
		_, err = f.Claim(f.ctx, Claim{Ref: ref(in.Thread, "r1", 7), MessageID: "r1-7", Commit: &behind})
		require.ErrorIs(f.t, err, ErrOvertaken)
		for _, parent := range []string{"", "cp-r0-1"} {
			_, err = f.StartRun(f.ctx, StartRun{Ref: ref(in.Thread, "r2", 0), Pos: 5, Parent: &parent, At: at})
			require.ErrorIs(f.t, err, ErrOvertaken)
		}
		require.Equal(f.t, log, f.log(in.Thread))

		behind.Parent = in.CheckpointID
		f.commit(behind)
		_, err = f.StartRun(f.ctx, StartRun{Ref: ref(in.Thread, "r2", 0), Pos: 5, Parent: &behind.CheckpointID, At: at})
		require.NoError(f.t, err)
	})
}

// A failing commit leaves nothing behind, and the next one works.
func TestCommitAtomic(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		in := fullCommit(f)
		log, messages := f.log(in.Thread), f.count("messages")
		good := in.CheckpointID
		in.CheckpointID = "cp-r0-1" // taken
		_, err := f.Commit(f.ctx, in, plainDigest)
		require.ErrorContains(f.t, err, `commit step 5 of run "r1", thread "t1"`)
		require.Equal(f.t, log, f.log(in.Thread))
		require.Equal(f.t, messages, f.count("messages"))
		in.CheckpointID = good
		f.commit(in)
	})
}

// Nothing grows with the length of the conversation: late turns add as many
// bytes as early ones.
func TestBytesPerTurn(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	f.submit("t1", "r1", "hi")
	f.start("t1", "r1", 0)
	state := thread.State{Title: "A title", ThreadData: &thread.DirectoryRef{Workspace: "/mnt/user-data/workspace"}}
	for i := range 50 {
		state.Artifacts = append(state.Artifacts, fmt.Sprintf("/mnt/user-data/outputs/report-%d.md", i))
	}
	used := func() (n int) {
		require.NoError(t, f.read(f.ctx, func(ctx context.Context, q querier) error {
			return get(f.ctx, q, `SELECT SUM(payload) FROM dbstat`, nil, &n)
		}))
		return n
	}
	turn := func(i int) {
		o := f.owner(ref("t1", "r1", 2*i))
		require.NoError(t, f.Append(f.ctx, o, delta(o, "some text that was streamed")))
		f.finish(o, int64(i), "some text that was streamed, and the rest of it")
		in := commitInput(ref("t1", "r1", 2*i+1), int64(i+1), thread.StatusBusy)
		in.State = state
		in.Checkpoint = json.RawMessage(`{"turn":` + fmt.Sprint(1000+i) + `}`)
		f.commit(in)
	}
	measure := func(from, to int) int {
		before := used()
		for i := from; i < to; i++ {
			turn(i)
		}
		return used() - before
	}
	measure(1, 10)
	early := measure(10, 30)
	measure(30, 200)
	late := measure(200, 220)
	t.Logf("%d bytes a turn at turn 10, %d at turn 200", early/20, late/20)
	require.LessOrEqual(t, float64(late), 1.1*float64(early), "only digits of numbers may grow")
}
