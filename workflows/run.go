package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// outcome is how the work on an API run ended.
type outcome struct {
	renew      bool // between two turns: continue as new, then go on
	interrupts []thread.Interrupt
	fallback   *step.Seal // the message that stands in for a failed model call
	err        error      // the run failed
	cancelled  bool
	refused    bool // the run was taken back before it started
}

// work runs the loop until the API run ends: with an answer, a question, an
// error or a stop. It reports true when the workflow has to continue as new in
// the middle. Its own error ends the workflow.
func (c *conversation) work(ctx workflow.Context) (renew bool, err error) {
	turnCtx, cancelTurn := workflow.WithCancel(ctx)
	defer cancelTurn()
	c.cancelTurn = cancelTurn
	if c.cancel != nil {
		cancelTurn() // asked for between two runs of this workflow
	}
	out := outcome{cancelled: true} // a loop that was held is taken up for its stop alone
	if l := c.st.Loop; !l.Started || checkLoop(l.Version) == nil {
		out = c.attempt(ctx, turnCtx)
	}
	c.cancelTurn = nil
	if out.renew {
		return true, nil
	}
	if typed(out.err, step.ErrThreadGone) || typed(out.err, step.ErrOvertaken) || typed(out.err, step.ErrNewer) {
		return false, out.err
	}
	if out.refused {
		c.forgetRun(ctx, out.err)
		return false, nil
	}
	return false, c.finish(ctx, out)
}

// attempt starts the API run, unless that happened before a continue-as-new,
// and takes turns.
func (c *conversation) attempt(ctx, turnCtx workflow.Context) outcome {
	l := c.st.Loop
	fresh := !l.Started
	if fresh {
		// Not under the turn's context: a run that is stopped at once has its
		// messages in the transcript all the same.
		if err := c.start(ctx); err != nil {
			return outcome{err: err, refused: typed(err, step.ErrRunGone)}
		}
	}
	c.takeUnfinished(fresh)
	chain, err := chainOf(ctx, l)
	if err == nil {
		err = chain.Restore(ctx, l.Memory)
	}
	if err != nil {
		return outcome{err: err}
	}
	c.chain = chain
	c.show(ctx)
	if len(c.st.Interrupts) > 0 {
		return outcome{interrupts: c.st.Interrupts} // only some were answered
	}
	if fresh {
		view := c.view()
		if err := chain.BeforeRun(ctx, view, view.Apply); err != nil {
			return outcome{err: err}
		}
		if c.replied {
			c.replied = false
			return outcome{}
		}
	}
	out := c.turns(turnCtx)
	var cancelled *temporal.CanceledError
	if c.cancel != nil && (turnCtx.Err() != nil || errors.As(out.err, &cancelled)) {
		out.cancelled = true
	}
	return out
}

// chainOf is the chain by which a loop began.
func chainOf(ctx workflow.Context, l *loop) (*middleware.Chain, error) {
	if l.Version < 2 {
		return middleware.First(ctx, &l.Plan)
	}
	return middleware.Lead(ctx, &l.Plan)
}

// takeUnfinished makes what a lost workflow had begun of a stopped run our own, to
// be sealed at its end. What it had made comes into view, unless the start of the
// run has brought it.
func (c *conversation) takeUnfinished(started bool) {
	run := c.st.Loop.RunID
	i := slices.IndexFunc(c.unfinished, func(u step.Unfinished) bool { return u.Run == run })
	if i < 0 {
		return
	}
	u := c.unfinished[i]
	c.unfinished = slices.Delete(c.unfinished, i, i+1)
	for _, d := range u.Made {
		if !started {
			c.st.NextPos = max(c.st.NextPos, d.Pos+1)
			c.take(d)
		}
	}
	for _, s := range u.Seals {
		pos := s.Pos
		if s.Stream {
			pos = c.position()
		}
		c.st.NextPos = max(c.st.NextPos, pos+1)
		c.flights = append(c.flights, flight{id: s.MessageID, pos: pos, stream: s.Stream, fallback: s.Fallback})
	}
}

// start resolves the plan and takes the run's messages into view.
func (c *conversation) start(ctx workflow.Context) error {
	l := c.st.Loop
	parent := c.st.Checkpoint
	in := step.StartRunInput{Ref: c.ref(0), Pos: c.st.NextPos, Parent: &parent, Options: l.Options, KeepPlan: l.PlanHash}
	if in.LoopVersion = l.Version; l.Version == 0 {
		in.LoopVersion = loopVersion
	}
	if l.Next != nil {
		in.Message, in.Stop = l.Next.Message, l.Next.Stop
	}
	in.Answers = c.answered()
	for _, d := range c.digests {
		if d.Day != "" {
			in.LastDay = d.Day // not the latest: a user who travels may go back a day
		}
	}
	var out step.StartRunResult
	if err := c.activity(startRunOptions(ctx), step.StartRun, in, &out); err != nil {
		return err
	}
	// The version stands in the history from here on. A replay by an older program
	// ends here, before it would do something else than is recorded.
	if l.Version == 0 {
		l.Version = max(out.LoopVersion, firstLoop)
	}
	if err := checkLoop(l.Version); err != nil && !in.Stop {
		return err
	}
	l.PlanHash, l.Plan, l.Started, l.Next = out.PlanHash, out.Plan, true, nil
	l.Intake = out.Intake
	for _, d := range out.Messages {
		c.st.NextPos = max(c.st.NextPos, d.Pos+1)
		c.take(d)
	}
	c.closeQuestions(in.Answers)
	return c.apply(out.State)
}

// answered lists the open questions that the run which starts now answers.
func (c *conversation) answered() []string {
	if next := c.st.Loop.Next; next != nil && len(next.Answers) > 0 {
		return next.Answers
	}
	ids := make([]string, 0, len(c.st.Interrupts))
	for _, i := range c.st.Interrupts {
		ids = append(ids, i.ID)
	}
	return ids
}

func (c *conversation) closeQuestions(ids []string) {
	var open []thread.Interrupt
	for _, i := range c.st.Interrupts {
		answered := false
		for _, id := range ids {
			answered = answered || id == i.ID
		}
		if !answered {
			open = append(open, i)
		}
	}
	c.st.Interrupts = open
}

// finish stores how the run ended, in one commit.
func (c *conversation) finish(ctx workflow.Context, out outcome) error {
	l := c.st.Loop
	if c.chain != nil {
		view := c.view()
		if err := c.chain.AfterRun(ctx, view, view.Apply); err != nil && out.err == nil {
			out.err = err
		}
	}
	seals := c.seals(out)
	if err := c.letCancelLeave(ctx, out, seals); err != nil {
		return err
	}
	end, rollback, err := c.leaveRun(ctx, out)
	if err != nil {
		return err
	}
	c.st.Failed = end.Status == thread.RunError && !rollback
	l.Step++
	ref := c.ref(l.Step)
	if err := c.settle(ctx, out); err != nil {
		return err
	}
	in, err := c.newCommit(ctx, ref)
	if err != nil {
		return err
	}
	in.Seals, in.Ends = seals, []thread.End{end}
	result, err := c.commit(ctx, in)
	if err != nil {
		return err
	}
	if !rollback {
		for _, d := range result.Messages {
			if !c.knows(d.ID) {
				c.take(d)
			}
		}
	}
	return nil
}

// leaveRun stores what is due of a run that ends, and takes it back where that
// was asked for.
func (c *conversation) leaveRun(ctx workflow.Context, out outcome) (end thread.End, rollback bool, err error) {
	if err := c.flush(ctx); err != nil {
		return end, false, err
	}
	// Only now: a rollback may have come while the database was waited for.
	rollback = out.cancelled && c.cancel.Action == thread.CancelRollback
	end = c.ended(ctx, out, rollback)
	if rollback {
		err = c.rollBack(ctx)
	}
	return end, rollback, err
}

// letCancelLeave gives the cancel of activities a workflow task of its own,
// before a database that may be slow is waited for.
func (c *conversation) letCancelLeave(ctx workflow.Context, out outcome, seals []step.Seal) error {
	if len(seals) == 0 || !out.cancelled {
		return nil
	}
	return workflow.Sleep(ctx, time.Millisecond)
}

// ended is how the API run ended, for its row.
func (c *conversation) ended(ctx workflow.Context, out outcome, rollback bool) thread.End {
	l := c.st.Loop
	end := thread.End{RunID: l.RunID, Status: thread.RunSuccess, StopReason: l.StopReason, Usage: l.Usage, ModelCalls: l.ModelCalls}
	switch {
	case rollback:
		end.Status, end.StopReason, end.Error = thread.RunError, thread.StopCancelled, "Rolled back by user"
	case out.cancelled:
		end.Status, end.StopReason = thread.RunInterrupted, thread.StopCancelled
	case out.err != nil:
		end.Status, end.Error = thread.RunError, reason(out.err)
		workflow.GetLogger(ctx).Error("The run failed", "run", l.RunID, "error", out.err)
	case out.fallback != nil:
		end.Status = thread.RunError
		end.Error, _ = out.fallback.Fallback.AdditionalKwargs[thread.KeyErrorDetail].(string)
	}
	return end
}

// settle leaves the loop waiting with its questions, or ends it. From here on a
// stop finds nothing to stop.
func (c *conversation) settle(ctx workflow.Context, out outcome) error {
	if len(out.interrupts) > 0 && !out.cancelled && out.err == nil {
		c.st.Loop.Waiting = true
		c.st.Interrupts = out.interrupts
		if err := c.remind(ctx); err != nil {
			return err
		}
	} else {
		c.st.Loop, c.st.Interrupts = nil, nil
	}
	c.cancel, c.chain = nil, nil
	return nil
}

// seals closes what activities may still be writing.
func (c *conversation) seals(out outcome) []step.Seal {
	var seals []step.Seal
	if out.fallback != nil {
		seals = append(seals, *out.fallback)
	}
	for _, f := range c.flights {
		seals = append(seals, step.Seal{MessageID: f.id, Pos: f.pos, Stream: f.stream, Fallback: f.fallback})
	}
	c.flights = nil
	for _, s := range seals {
		c.st.Cursor.Extend(s.Pos)
	}
	return seals
}

// rollBack returns to the state from before the run: the cursor moves, the log
// keeps what was.
func (c *conversation) rollBack(ctx workflow.Context) error {
	b := c.st.Loop.Before
	compacted := !c.st.Cursor.SameView(b.Cursor)
	c.st.Cursor, c.st.State = b.Cursor.Clone(), b.State
	c.revisions, c.update, c.fresh = nil, thread.StateUpdate{}, nil
	if compacted {
		// What the run has compacted is read again.
		digests, err := c.digestsOf(ctx, step.LoadThreadInput{Cursor: c.st.Cursor})
		c.digests = digests
		return err
	}
	var kept []thread.Digest
	view := c.st.Cursor.Model()
	for _, d := range c.digests {
		if view.Contains(d.Pos) {
			kept = append(kept, d)
		}
	}
	c.digests = kept
	return nil
}

// digestsOf reads digests of stored messages.
func (c *conversation) digestsOf(ctx workflow.Context, in step.LoadThreadInput) ([]thread.Digest, error) {
	in.Thread, in.Carried = c.in.Thread, true
	var out step.LoadThreadResult
	err := c.local(ctx, step.LoadThread, in, &out)
	return out.Digests, err
}

// remind keeps the middlewares' counters over a wait.
func (c *conversation) remind(ctx workflow.Context) error {
	if c.chain == nil {
		return nil
	}
	memory, err := c.chain.Save(ctx)
	if err != nil {
		return err
	}
	c.st.Loop.Memory = memory
	return nil
}

// view is what hooks may look at. It follows what they change: a hook sees what
// those before it have done, as a plan that a compaction took out of view.
func (c *conversation) view() *middleware.Run {
	run := c.snapshot()
	run.Apply = func(ctx workflow.Context, u middleware.Update) error {
		err := c.takeUpdate(ctx, u)
		apply := run.Apply
		*run = *c.snapshot()
		run.Apply = apply
		return err
	}
	return run
}

func (c *conversation) snapshot() *middleware.Run {
	l := c.st.Loop
	return &middleware.Run{
		ThreadID: c.in.Thread, RunID: l.RunID, User: c.in.User, Plan: &l.Plan, Options: l.Options,
		Turn: l.Turn, Messages: c.digests, State: c.st.State, Intake: l.Intake, Usage: l.Usage, Steps: sideSteps{c},
		Compacted: c.st.Cursor.Compacted,
	}
}

// takeUpdate is how the loop takes what a hook wants stored.
func (c *conversation) takeUpdate(_ workflow.Context, u middleware.Update) error {
	if err := c.apply(u.State); err != nil {
		return err
	}
	for _, r := range u.Revisions {
		c.revisions = append(c.revisions, r)
		for i := range c.digests {
			if c.digests[i].ID == r.MessageID && r.StripCalls {
				c.digests[i].Calls = nil
			}
		}
	}
	for _, m := range u.Messages {
		c.add(m)
	}
	if u.Reply != nil {
		c.add(*u.Reply)
		c.replied = true
	}
	if u.Compact != nil {
		c.compact(u.Compact)
	}
	if u.Usage != nil {
		c.spend(*u.Usage)
	}
	if u.StopReason != "" && c.st.Loop.StopReason == "" {
		c.st.Loop.StopReason = u.StopReason
	}
	if u.Error != "" {
		return errors.New(u.Error)
	}
	return nil
}

// forgetRun goes back to before a run that nobody knows of any more: its
// submission was taken back while it was on its way.
func (c *conversation) forgetRun(ctx workflow.Context, err error) {
	workflow.GetLogger(ctx).Warn("A run is not started", "run", c.st.Loop.RunID, "error", err)
	c.cancel = nil
	if len(c.st.Interrupts) > 0 {
		c.st.Loop.Waiting, c.st.Loop.Started, c.st.Loop.Next = true, true, nil
		return
	}
	c.st.Loop = nil
}

// typed tells whether an error is an application error of a type.
func typed(err error, kind string) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == kind
}

// reason is what a person should read of an error.
func reason(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return fmt.Sprintf("a step did not end in time (%s)", timeout.TimeoutType())
	}
	return err.Error()
}
