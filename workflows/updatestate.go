package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// edit is an update of the state, or a compaction, that waits to be stored; its
// handler waits until it is.
type edit struct {
	step.UpdateState
	compact   *step.Compact // in place of an update
	done      bool
	result    step.UpdateStateResult
	compacted step.CompactResult
	err       error
}

func (c *conversation) validateUpdateState(_ workflow.Context, u step.UpdateState) error {
	if !thread.IsUpdate(u.ID) {
		return refuse(step.ErrInvalid, fmt.Sprintf("the id of an update of the state begins with %q, got %q", thread.UpdatePrefix, u.ID))
	}
	if !c.loaded {
		return nil
	}
	return c.editable()
}

// editable refuses updates while a run is active: it would work on a state that
// is gone.
func (c *conversation) editable() error {
	if c.held != nil {
		return c.held
	}
	if err := c.crowded(); err != nil {
		return err
	}
	if c.status() == thread.StatusBusy {
		return refuse(step.ErrBusy, fmt.Sprintf("Thread %s has a run in flight", c.in.Thread))
	}
	return nil
}

func (c *conversation) updateState(ctx workflow.Context, u step.UpdateState) (step.UpdateStateResult, error) {
	c.taken++
	if err := c.ready(ctx); err != nil {
		return step.UpdateStateResult{}, err
	}
	if slices.Contains(c.st.Taken, u.ID) {
		return step.UpdateStateResult{CheckpointID: c.st.Checkpoint}, nil
	}
	if err := c.editable(); err != nil {
		return step.UpdateStateResult{}, err
	}
	c.remember(u.ID)
	e := &edit{UpdateState: u}
	c.edits = append(c.edits, e)
	if err := workflow.Await(ctx, func() bool { return e.done }); err != nil {
		return step.UpdateStateResult{}, err
	}
	return e.result, e.err
}

// takeEdits stores what handlers wait for. They are finished when it returns,
// also when it fails.
func (c *conversation) takeEdits(ctx workflow.Context) error {
	for len(c.edits) > 0 {
		e := c.edits[0]
		c.edits = c.edits[1:]
		var err error
		if e.compact != nil {
			err = c.compactNow(ctx, e)
		} else {
			err = c.takeEdit(ctx, e)
		}
		if e.done = true; err == nil {
			continue
		}
		e.err = err
		if typed(err, step.ErrOvertaken) {
			e.err = c.overtaken()
		}
		c.refuseEdits(e.err)
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return err
		}
		return err
	}
	return nil
}

// refuseEdits ends the handlers that wait.
func (c *conversation) refuseEdits(err error) {
	for _, e := range c.edits {
		e.err, e.done = err, true
	}
	c.edits = nil
}

// overtaken tells whoever waits that the thread starts anew.
func (c *conversation) overtaken() error {
	return refuse(step.ErrBusy, fmt.Sprintf("Thread %s goes on from a newer state: ask again", c.in.Thread))
}

// takeEdit changes the state and stores it in a commit of its own.
func (c *conversation) takeEdit(ctx workflow.Context, e *edit) error {
	if e.Title != nil {
		c.st.State.Title, c.update.Title = *e.Title, e.Title
	}
	if e.Artifacts != nil {
		paths := thread.NewestPaths(e.Artifacts.Paths)
		c.st.State.Artifacts = slices.Clone(paths)
		c.update.Artifacts = slices.Clone(paths)
	}
	hidden, err := c.compactedAmong(ctx, &e.UpdateState)
	if err != nil {
		return err
	}
	hidden = c.removeMessages(&e.UpdateState, hidden)
	messages := make([]step.NewMessage, len(e.Messages))
	for i, m := range e.Messages {
		messages[i] = step.NewMessage{Pos: c.placeOf(m.ID, hidden), Message: m}
		c.st.Cursor.Extend(messages[i].Pos)
	}
	in, err := c.newCommit(ctx, step.Ref{Thread: c.in.Thread, User: c.in.User, Run: e.ID, Step: 1})
	if err != nil {
		return err
	}
	in.Messages = messages
	out, err := c.commit(ctx, in)
	if err != nil {
		return err
	}
	view := c.st.Cursor.Model()
	for _, d := range out.Messages {
		c.digests = slices.DeleteFunc(c.digests, func(old thread.Digest) bool { return old.ID == d.ID })
		if view.Contains(d.Pos) {
			c.take(d)
		}
	}
	e.result.CheckpointID = in.CheckpointID
	return nil
}

// compactedAmong finds the named messages that a compaction has taken out of the
// model's view: they are still listed, so they can be changed.
func (c *conversation) compactedAmong(ctx workflow.Context, u *step.UpdateState) ([]thread.Digest, error) {
	if c.st.Cursor.Compacted == nil || u.Clear {
		return nil, nil
	}
	ids := slices.Clone(u.Remove)
	for _, m := range u.Messages {
		ids = append(ids, m.ID)
	}
	ids = slices.DeleteFunc(ids, c.knows)
	if len(ids) == 0 {
		return nil, nil
	}
	return c.digestsOf(ctx, step.LoadThreadInput{Cursor: c.st.Cursor, Only: ids})
}

// removeMessages takes messages out of view, and gives those of the hidden ones
// that stay. With all messages goes what was made of them.
func (c *conversation) removeMessages(u *step.UpdateState, hidden []thread.Digest) []thread.Digest {
	if u.Clear {
		if c.st.Cursor.Compacted != nil {
			c.st.State.Summary, c.update.Summary = nil, &thread.SummaryRef{}
		}
		c.st.Cursor, c.digests = thread.Cursor{}, nil
		return nil
	}
	remove := func(d thread.Digest) bool {
		gone := slices.Contains(u.Remove, d.ID) && c.st.Cursor.Contains(d.Pos)
		if gone {
			c.st.Cursor.Remove(d.Pos)
		}
		return gone
	}
	c.digests = slices.DeleteFunc(c.digests, remove)
	return slices.DeleteFunc(hidden, remove)
}

// placeOf is where a message with this id goes: to its place if the thread has
// it, otherwise to the end.
func (c *conversation) placeOf(id string, hidden []thread.Digest) int64 {
	for _, list := range [][]thread.Digest{c.digests, hidden} {
		for _, d := range list {
			if d.ID == id {
				return d.Pos
			}
		}
	}
	return c.position()
}
