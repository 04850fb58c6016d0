package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// checkpoint adds the frames of a commit: what changed beside the messages, the
// state, and the questions that the thread waits with.
func (b *builder) checkpoint(ctx context.Context) error {
	var ref store.CheckpointRef
	if err := json.Unmarshal(b.ev.Data, &ref); err != nil {
		return err
	}
	if err := b.channelUpdates(&ref.Update); err != nil {
		return err
	}
	if err := b.stateValues(ctx, &ref); err != nil {
		return err
	}
	if len(ref.Interrupts) > 0 {
		if err := b.interrupts(ctx, ref.Interrupts); err != nil {
			return err
		}
	}
	return b.checkpointState(ctx, &ref)
}

// stateValues adds the state as of a commit. Each such frame holds the whole
// conversation, so in a long run they would grow with the square of its turns:
// there, those that bring nothing but messages become rarer, by a quarter of the
// run each time, and what is sent stays in proportion to the conversation (E18).
// The last one of a run is always sent.
func (b *builder) stateValues(ctx context.Context, ref *store.CheckpointRef) error {
	before := b.lastStep
	b.lastStep = b.ev.Step
	if !ref.Update.IsZero() || ref.Status != thread.StatusBusy || crosses(before, b.ev.Step) {
		return b.values(ctx, b.ev.Seq)
	}
	last, err := b.endsHere(ctx)
	if err != nil {
		return err
	}
	if last {
		return b.values(ctx, b.ev.Seq)
	}
	b.n++
	return nil
}

// denseSteps is how many steps of a run have the state after each turn.
const denseSteps = 32

// crosses reports whether one of the steps denseSteps, and then each a quarter
// further, lies between two commits.
func crosses(before, step int) bool {
	if step <= denseSteps || before > step { // a loop that goes on after a question counts anew
		return true
	}
	mark := denseSteps
	for mark <= before {
		mark += mark / 4
	}
	return mark <= step
}

// endsHere reports whether the run ends in the transaction of this commit: its
// end stands right behind it, or behind the ends of others.
func (b *builder) endsHere(ctx context.Context) (bool, error) {
	if !b.wants(modeValues) {
		return false, nil
	}
	events, err := b.s.o.Store.Events(ctx, b.thread, b.ev.Seq, 8)
	if err != nil {
		return false, err
	}
	for i := range events {
		if events[i].Type != store.EventRunEnd {
			break
		}
		if events[i].Run == b.run {
			return true, nil
		}
	}
	return false, nil
}

// channelNode names the node that writes a channel, in DeerFlow's words: pages
// look for some of them.
func channelNode(channel string) string {
	switch channel {
	case "title":
		return "TitleMiddleware.after_model"
	case "thread_data":
		return "ThreadDataMiddleware.before_agent"
	case "uploaded_files":
		return "UploadsMiddleware.before_agent"
	case "summary":
		return "DeerFlowSummarizationMiddleware.before_model"
	case "sandbox":
		return "SandboxMiddleware.before_agent"
	}
	return nodeTools
}

// channelUpdates adds one frame for each channel that changed.
func (b *builder) channelUpdates(u *thread.StateUpdate) error {
	if u.IsZero() {
		return nil
	}
	told := *u
	told.Anew = thread.Anew{} // is about how it was made of others, and is no channel
	data, err := json.Marshal(told)
	if err != nil {
		return err
	}
	changed := channels{}
	if err := json.Unmarshal(data, &changed); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		change := channels{name: changed[name]}
		if name == "summary" {
			change["messages"] = json.RawMessage("[]") // pages of DeerFlow look for what was removed: nothing was
		}
		if err := b.update(channelNode(name), change); err != nil {
			return err
		}
	}
	return nil
}

// interrupts adds the questions: the state with them, since some clients look
// at nothing else in such a frame, and an update.
func (b *builder) interrupts(ctx context.Context, questions []thread.Interrupt) error {
	if b.wants(modeValues) {
		values, err := b.s.valuesAt(ctx, b.thread, b.run, b.ev.Seq)
		if err != nil {
			return err
		}
		if values, err = withInterrupts(values, questions); err != nil {
			return err
		}
		b.add(modeValues, frameValues, values)
	} else {
		b.n++
	}
	return b.update(interruptKey, questions)
}

// checkpointState adds the frames of the modes checkpoints and debug.
func (b *builder) checkpointState(ctx context.Context, ref *store.CheckpointRef) error {
	if !b.wants(modeCheckpoints) && !b.modes.has(modeDebug) {
		b.n += 2
		return nil
	}
	cp, err := b.s.o.Store.GetCheckpoint(ctx, b.thread, ref.ID)
	if errors.Is(err, store.ErrNotFound) {
		b.n += 2
		return nil
	}
	if err != nil {
		return err
	}
	values, err := b.s.valuesAt(ctx, b.thread, b.run, b.ev.Seq)
	if err != nil {
		return err
	}
	var all channels
	if err := json.Unmarshal(values, &all); err != nil {
		return err
	}
	payload := map[string]any{
		"values": all, "next": nextOf(&cp), "tasks": tasksOf(&cp),
		"metadata": map[string]any{"source": "loop", "step": cp.Step, "parents": map[string]any{}},
		"config": map[string]any{"configurable": map[string]any{
			"thread_id": b.thread, "checkpoint_ns": "", "checkpoint_id": cp.ID,
		}},
	}
	if err := b.addValue(modeCheckpoints, "checkpoints", payload); err != nil {
		return err
	}
	return b.debug("checkpoint", payload)
}

// taskResult adds the frames of the modes tasks and debug: a node is done.
func (b *builder) taskResult(id, node string, stored *wireRow) error {
	result := map[string]any{
		"id": taskID(id), "name": node, "error": nil, "interrupts": []any{},
		"result": map[string]any{"messages": []json.RawMessage{stored.json}},
	}
	if err := b.addValue(modeTasks, "tasks", result); err != nil {
		return err
	}
	return b.debug("task_result", result)
}

func (b *builder) debug(kind string, payload any) error {
	return b.addValue(modeDebug, "debug", map[string]any{
		"type": kind, "step": b.ev.Step, "timestamp": stamp(b.ev.At), "payload": payload,
	})
}
