package workflows

import (
	"errors"
	"hash/fnv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// newCommit describes all that changed since the last commit.
func (c *conversation) newCommit(ctx workflow.Context, ref step.Ref) (step.CommitInput, error) {
	c.st.Commits++
	now := workflow.Now(ctx)
	data, err := c.st.checkpoint()
	if err != nil {
		return step.CommitInput{}, err
	}
	in := step.CommitInput{
		Ref: ref, CheckpointID: thread.CheckpointID(now, c.st.Commits, salt(c.in.Thread)), Parent: c.st.Checkpoint,
		At: now, Checkpoint: data, Cursor: c.st.Cursor.Clone(), NextPos: c.st.NextPos,
		State: c.st.State.Clone(), Status: c.status(), Interrupts: c.st.Interrupts,
		Next: c.next(), Update: c.update, Revisions: c.revisions, Messages: c.fresh,
	}
	c.st.Checkpoint = in.CheckpointID
	c.update, c.revisions, c.fresh, c.st.Due = thread.StateUpdate{}, nil, nil, false
	return in, nil
}

// next names what is due, in the API's words.
func (c *conversation) next() []string {
	switch l := c.st.Loop; {
	case l == nil:
		return nil
	case l.Waiting:
		return []string{"tools"}
	default:
		return []string{"model"}
	}
}

// endTurn keeps what the turn changed for the commit that rides on the next
// model call.
func (c *conversation) endTurn(ctx workflow.Context) error {
	if c.st.Loop.Version < 2 {
		return c.ride(ctx)
	}
	if err := c.remind(ctx); err != nil {
		return err
	}
	c.st.Due = true
	c.show(ctx)
	return nil
}

// board puts the commit that is due, with what hooks have added since, on the
// model call that comes next. Messages that the call has to read must be stored
// with it.
func (c *conversation) board(ctx workflow.Context) error {
	if c.st.Loop.Version < 2 || !c.st.Due && len(c.fresh) == 0 {
		return nil
	}
	return c.ride(ctx)
}

// ride leaves the commit of the turn to the next activity.
func (c *conversation) ride(ctx workflow.Context) error {
	if err := c.remind(ctx); err != nil {
		return err
	}
	c.st.Loop.Step++
	in, err := c.newCommit(ctx, c.ref(c.st.Loop.Step))
	if err != nil {
		return err
	}
	c.st.Pending = &in
	c.show(ctx)
	return nil
}

// flush stores a commit that was to ride on an activity which never took it.
func (c *conversation) flush(ctx workflow.Context) error {
	if c.st.Pending == nil {
		return nil
	}
	_, err := c.commit(ctx, *c.st.Pending)
	c.st.Pending = nil
	return err
}

// commit stores a turn on its own: at the end of a run and before a wait.
func (c *conversation) commit(ctx workflow.Context, in step.CommitInput) (step.CommitResult, error) {
	var out step.CommitResult
	err := c.local(ctx, step.Commit, in, &out)
	return out, err
}

// Pauses between the tries of a local activity when the database is away.
const (
	firstPause  = 500 * time.Millisecond
	longestWait = 15 * time.Second
)

// local runs a local activity until the database answers. Each try is short, so
// that a workflow task never hangs in it; the pauses are timers that one can
// see, and that a stop or a new message is not held up by.
func (c *conversation) local(ctx workflow.Context, name string, in, out any) error {
	return c.outlast(ctx, name, func() (again bool, err error) {
		err = workflow.ExecuteLocalActivity(localOptions(ctx, name), name, in).Get(ctx, out)
		var app *temporal.ApplicationError
		final := errors.As(err, &app) && app.NonRetryable() && app.Type() != step.ErrStoreAway
		return err != nil && !final, err
	})
}

// activity runs an activity, and again for as long as it says that the database
// is away: how often a model or a tool may be tried has nothing to do with that.
func (c *conversation) activity(ctx workflow.Context, name string, in, out any) error {
	return c.outlast(ctx, name, func() (again bool, err error) {
		err = workflow.ExecuteActivity(ctx, name, in).Get(ctx, out)
		return typed(err, step.ErrStoreAway), err
	})
}

// outlast tries until the database is back, with a pause that one can see
// between two tries. A cancel ends it.
func (c *conversation) outlast(ctx workflow.Context, name string, try func() (again bool, err error)) error {
	for pause := firstPause; ; pause = min(2*pause, longestWait) {
		again, err := try()
		if !again || ctx.Err() != nil {
			if c.notice != "" {
				c.notice = ""
				c.show(ctx)
			}
			return err
		}
		workflow.GetLogger(ctx).Warn("The database does not answer; trying again", "step", name, "pause", pause, "error", err)
		c.notice = "The product's database does not answer; trying again. Nothing is lost."
		c.show(ctx)
		timer := workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "the database does not answer; " + name + " is tried again"})
		if err := timer.Get(ctx, nil); err != nil {
			return err
		}
	}
}

func salt(threadID string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(threadID))
	return h.Sum64()
}
