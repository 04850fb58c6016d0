package workflows

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// Thread is the workflow that is a thread: it waits for runs, works on one at a
// time, and stands still with a question for as long as it takes.
func Thread(ctx workflow.Context, in step.ThreadInput) error {
	c := newConversation(ctx, in)
	root := ctx
	// A cancel of the workflow is a stop like any other: it is obeyed in order,
	// on a context that outlives it.
	ctx, _ = workflow.NewDisconnectedContext(root)
	// Handlers come first: the update that started the workflow waits for them.
	if err := c.register(ctx); err != nil {
		return err
	}
	workflow.GoNamed(ctx, "cancellation", func(ctx workflow.Context) { c.obeyCancel(ctx, root) })
	if err := c.load(ctx); err != nil {
		if c.in.Carried != nil && typed(err, step.ErrNewer) {
			return err // whoever waits asks the workflow that starts from the checkpoint
		}
		c.loadErr, c.loaded = err, true
		// Whoever waits is told before the workflow ends.
		_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
		return err
	}
	c.loaded = true
	if c.held != nil {
		return c.hold(ctx)
	}
	err := c.serve(ctx)
	if typed(err, step.ErrOvertaken) {
		return c.reload(ctx)
	}
	return err
}

// conversation is the thread workflow at work. Only st outlives it.
type conversation struct {
	in       step.ThreadInput
	st       threadState
	digests  []thread.Digest // of the messages in view
	loaded   bool
	loadErr  error
	held     error // why this program may not go on with the thread's work
	baseLen  int   // events and bytes of history when this workflow run began
	baseSize int

	chain      *middleware.Chain
	replied    bool                // a before-run hook has answered in the model's place
	cancelTurn workflow.CancelFunc // of the run that is being worked on
	cancel     *step.CancelRun     // asked for, not done yet
	dropped    []queuedRun         // taken out of the queue, their rows still pending
	closeAsked bool                // the open question is to be closed as cancelled
	closeBack  bool                // ... and its run rolled back
	leaving    bool                // the workflow was cancelled: it ends what it does, then itself
	edits      []*edit             // updates of the state that are not stored yet
	taken      int                 // updates that this workflow run has taken
	turned     bool                // this workflow run has taken a turn

	unfinished []step.Unfinished  // of stopped runs that a lost workflow had begun
	flights    []flight           // messages that activities may be writing
	fresh      []step.NewMessage  // messages of the framework since the last commit
	revisions  []thread.Revision  // since the last commit
	update     thread.StateUpdate // since the last commit
	notice     string             // for people: what is being waited for
}

// flight is a message whose activity has been started and has not returned.
type flight struct {
	id       string
	pos      int64
	stream   bool
	fallback thread.Message
}

func newConversation(ctx workflow.Context, in step.ThreadInput) *conversation {
	info := workflow.GetInfo(ctx)
	return &conversation{in: in, baseLen: info.GetCurrentHistoryLength(), baseSize: info.GetCurrentHistorySize()}
}

// load takes the state from the run before, or from the thread's checkpoint,
// and the digests of the messages in view.
func (c *conversation) load(ctx workflow.Context) error {
	input := step.LoadThreadInput{Thread: c.in.Thread, Stopped: c.in.Stopped}
	if c.in.Carried != nil {
		// What came in by a handler meanwhile stays.
		fresh := c.st
		if err := json.Unmarshal(c.in.Carried, &c.st); err != nil {
			return temporal.NewNonRetryableApplicationError("the carried state cannot be read: "+err.Error(), step.ErrInvalid, err)
		}
		if err := c.checkCarried(); err != nil {
			return err
		}
		c.st.Queue = append(c.st.Queue, fresh.Queue...)
		c.resume()
		input.Carried, input.Cursor = true, c.st.Cursor
	}
	var out step.LoadThreadResult
	if err := c.local(ctx, step.LoadThread, input, &out); err != nil {
		return err
	}
	c.digests = out.Digests
	for _, d := range c.digests {
		if c.st.Question == "" && d.Role == thread.RoleHuman && d.Name != thread.NameSummary {
			c.st.Question = d.Text
		}
	}
	if c.in.Carried != nil {
		return nil
	}
	c.st.Taken = append(c.st.Taken, out.Ended...)
	if out.Head != nil {
		if err := c.fromCheckpoint(&out); err != nil {
			return err
		}
	}
	c.unfinished = out.Unfinished
	c.takeUp(out.Running)
	return c.takeWaiting()
}

// fromCheckpoint takes the state from the thread's newest checkpoint.
func (c *conversation) fromCheckpoint(out *step.LoadThreadResult) error {
	err := c.st.restore(out.Head, out.Plan)
	switch {
	case typed(err, step.ErrNewer):
		return err
	case err != nil:
		return temporal.NewNonRetryableApplicationError(err.Error(), step.ErrInvalid, err)
	}
	l := c.st.Loop
	if l == nil {
		return nil
	}
	c.held = checkLoop(l.Version)
	if !l.Waiting {
		c.st.Taken = append(c.st.Taken, l.RunID)
		c.cancel = c.stopOf(l.RunID, out.Running)
	}
	return nil
}

// stopOf is the stop of a run that a workflow before this one had begun: because
// that one was ended from outside, or because the run was to be stopped already.
func (c *conversation) stopOf(runID string, running []step.RunningRun) *step.CancelRun {
	for _, r := range running {
		if r.RunID == runID && r.Stopped != "" {
			return &step.CancelRun{RunID: runID, Action: r.Stopped}
		}
	}
	if c.in.Stopped {
		return &step.CancelRun{RunID: runID, Action: thread.CancelInterrupt}
	}
	return nil
}

// takeUp queues runs that had started when a workflow before this one was lost,
// or was ended from outside.
func (c *conversation) takeUp(runs []step.RunningRun) {
	for _, r := range runs {
		if slices.Contains(c.st.Taken, r.RunID) {
			continue
		}
		version := max(r.LoopVersion, firstLoop)
		if err := checkLoop(version); err != nil {
			c.held = err
		}
		c.remember(r.RunID)
		c.st.Queue = append(c.st.Queue, queuedRun{SubmitRun: r.SubmitRun, Stop: c.in.Stopped || r.Stopped != "", LoopVersion: version})
	}
}

// serve works until the thread has been idle for long enough.
func (c *conversation) serve(ctx workflow.Context) error {
	for {
		if l := c.st.Loop; l == nil || l.Waiting {
			idle, err := c.rest(ctx)
			if err != nil || idle {
				return err
			}
			if len(c.dropped) > 0 || c.closeAsked || len(c.edits) > 0 {
				if err := c.tidy(ctx); err != nil {
					return err
				}
				// Clients may change the state again and again without a run.
				if c.grown(ctx) {
					return c.continueAsNew(ctx)
				}
				continue
			}
			if len(c.st.Queue) == 0 { // leaving
				return c.leave(ctx)
			}
			c.begin()
		}
		renew, err := c.work(ctx)
		if err != nil {
			return err
		}
		if renew || c.grown(ctx) {
			return c.continueAsNew(ctx)
		}
	}
}

// rest waits for something to do. It reports true when the thread has been idle
// for so long that its workflow may complete; the next message starts it again.
func (c *conversation) rest(ctx workflow.Context) (idle bool, err error) {
	c.show(ctx)
	due := func() bool {
		return len(c.st.Queue) > 0 || len(c.dropped) > 0 || c.closeAsked || len(c.edits) > 0 || c.leaving
	}
	waiting := c.st.Loop != nil
	timeout := c.in.Settings.IdleTimeout
	if waiting {
		timeout = c.st.Loop.Plan.Clarification.Timeout
	}
	if timeout <= 0 {
		return false, workflow.Await(ctx, due)
	}
	summary := "idle: the workflow completes, the next message starts it again"
	if waiting {
		summary = "the time to answer the question"
	}
	// The timer ends with the wait: one left behind would show for a day.
	waitCtx, endWait := workflow.WithCancel(ctx)
	defer endWait()
	ok, err := workflow.AwaitWithOptions(waitCtx, workflow.AwaitOptions{
		Timeout: timeout, TimerOptions: workflow.TimerOptions{Summary: summary},
	}, due)
	if err != nil || ok {
		return false, err
	}
	if waiting {
		c.unanswered(ctx)
		return false, nil
	}
	if err := c.finishHandlers(ctx); err != nil {
		return false, err
	}
	c.drain(ctx)
	return !due(), nil
}

// obeyCancel waits for a cancel of the workflow, as people send it from the
// Temporal Web UI: the active run is stopped, queued ones are ended, an open
// question is closed.
func (c *conversation) obeyCancel(ctx, root workflow.Context) {
	root.Done().Receive(ctx, nil)
	if workflow.Await(ctx, func() bool { return c.loaded }) != nil {
		return
	}
	c.leaving = true
	c.dropped = append(c.dropped, c.st.Queue...)
	c.st.Queue = nil
	if l := c.st.Loop; l != nil && l.Waiting {
		c.closeAsked = true
		return
	}
	c.stop(step.CancelRun{Action: thread.CancelInterrupt})
}

// leave ends a workflow that was cancelled. The next message starts it again.
func (c *conversation) leave(ctx workflow.Context) error {
	if err := c.finishHandlers(ctx); err != nil {
		return err
	}
	c.show(ctx)
	return temporal.NewCanceledError("cancelled from outside; the thread is kept")
}

// unanswered does what the config says about a question that nobody answered.
func (c *conversation) unanswered(ctx workflow.Context) {
	if c.st.Loop.Plan.Clarification.OnTimeout != "proceed" {
		c.closeAsked = true
		return
	}
	c.enqueueOwn(ctx, nil, "Nobody answered in time. Decide by your best judgement, say what you assumed, and go on.")
}

// begin takes the next run of the queue: a new loop, or the answer that an open
// question has waited for.
func (c *conversation) begin() {
	next := c.st.Queue[0]
	c.st.Queue = c.st.Queue[1:]
	if next.Stop || next.Stopped != "" {
		next.Stop = true
		c.cancel = &step.CancelRun{RunID: next.RunID, Action: thread.CancelInterrupt}
		if next.Stopped != "" {
			c.cancel.Action = next.Stopped
		}
	}
	b := before{Cursor: c.st.Cursor.Clone(), State: c.st.State.Clone()}
	if l := c.st.Loop; l != nil {
		l.RunID, l.Step, l.Started, l.Waiting = next.RunID, 0, false, false
		l.Usage, l.ModelCalls, l.StopReason = thread.Usage{}, 0, ""
		l.Before, l.Next = b, &next
		l.Options.DisableClarification = next.Options.DisableClarification
		return
	}
	c.st.Loop = &loop{Version: next.LoopVersion, RunID: next.RunID, Options: next.Options, Before: b, Next: &next}
}

// tidy ends runs that were cancelled in the queue, closes a question that was
// cancelled, and stores updates of the state.
func (c *conversation) tidy(ctx workflow.Context) error {
	for len(c.dropped) > 0 {
		r := c.dropped[0]
		c.dropped = c.dropped[1:]
		in, err := c.newCommit(ctx, step.Ref{Thread: c.in.Thread, User: c.in.User, Run: r.RunID, Step: 1})
		if err != nil {
			return err
		}
		in.Ends = []thread.End{{RunID: r.RunID, Status: thread.RunInterrupted, StopReason: thread.StopCancelled}}
		if _, err := c.commit(ctx, in); err != nil {
			return err
		}
	}
	asked, l := c.closeAsked, c.st.Loop
	if c.closeAsked = false; asked && l != nil {
		if err := c.closeLoop(ctx, l); err != nil {
			return err
		}
	}
	return c.takeEdits(ctx)
}

// closeLoop ends a loop that waits with a question which was cancelled.
func (c *conversation) closeLoop(ctx workflow.Context, l *loop) error {
	l.Step++
	ref := c.ref(l.Step)
	if c.closeBack {
		c.closeBack = false
		if err := c.rollBack(ctx); err != nil {
			return err
		}
	}
	c.st.Interrupts, c.st.Loop = nil, nil
	in, err := c.newCommit(ctx, ref)
	if err != nil {
		return err
	}
	_, err = c.commit(ctx, in)
	return err
}

func (c *conversation) ref(n int) step.Ref {
	return step.Ref{Thread: c.in.Thread, User: c.in.User, Run: c.st.Loop.RunID, Step: n}
}

// status is the thread's, as it is now.
func (c *conversation) status() thread.Status {
	switch {
	case c.st.Loop != nil && !c.st.Loop.Waiting, len(c.st.Queue) > 0:
		return thread.StatusBusy
	case len(c.st.Interrupts) > 0:
		return thread.StatusInterrupted
	case c.st.Failed:
		return thread.StatusError
	}
	return thread.StatusIdle
}

// position gives out the next position of the transcript.
func (c *conversation) position() int64 {
	pos := c.st.NextPos
	c.st.NextPos++
	return pos
}

// take puts a message into view.
func (c *conversation) take(d thread.Digest) {
	if c.st.Question == "" && d.Role == thread.RoleHuman {
		c.st.Question = d.Text
	}
	c.st.Cursor.Extend(d.Pos)
	at, first := len(c.digests), 0
	if k := c.st.Cursor.Compacted; k != nil && len(c.digests) > 0 && c.digests[0].Pos == k.Summary {
		first = 1 // the summary comes first, whenever it was written
	}
	for at > first && c.digests[at-1].Pos > d.Pos {
		at-- // a call that was stopped stands before one that ended
	}
	c.digests = slices.Insert(c.digests, at, d)
	trimTexts(c.digests)
}

// textsKept is how many of the newest digests keep their text.
const textsKept = 20

func trimTexts(digests []thread.Digest) {
	if old := len(digests) - textsKept - 1; old >= 0 {
		digests[old].Text = ""
		for i := range digests[old].Calls {
			digests[old].Calls[i].Args = nil
		}
	}
}

// apply merges a change of the state, here and for the next commit.
func (c *conversation) apply(u thread.StateUpdate) error {
	if err := c.st.State.Apply(u); err != nil {
		return err
	}
	c.update = c.update.Merge(u)
	return nil
}

// makeRunID names a run that the workflow itself makes.
func (c *conversation) makeRunID(ctx workflow.Context) string {
	c.st.Made++
	return deriveUUID(fmt.Sprintf("%s/%s/%d", c.in.Thread, workflow.GetInfo(ctx).WorkflowExecution.RunID, c.st.Made))
}
