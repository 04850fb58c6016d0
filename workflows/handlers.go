package workflows

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// takenKept is how many run ids are remembered, so that a repeat is known over
// a continue-as-new, where Temporal forgets update ids.
const takenKept = 256

// longestAnswer is how many bytes an answer may have that does not come through
// the API: it stands in the history, and is carried until its run starts.
const longestAnswer = 8 << 10

// register sets the handlers. They only change state and return; a handler
// waits for nothing but the thread's state, and for the commit of an update of
// it.
func (c *conversation) register(ctx workflow.Context) error {
	if err := workflow.SetUpdateHandlerWithOptions(ctx, step.UpdateSubmitRun, c.submit,
		workflow.UpdateHandlerOptions{Validator: c.validateSubmit, Description: "start a run, or answer a question with one"}); err != nil {
		return fmt.Errorf("register %s: %w", step.UpdateSubmitRun, err)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, step.UpdateCancelRun, c.cancelRun,
		workflow.UpdateHandlerOptions{Validator: c.validateCancel, Description: "stop a run: {\"run_id\":\"\",\"action\":\"interrupt\"}"}); err != nil {
		return fmt.Errorf("register %s: %w", step.UpdateCancelRun, err)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, step.UpdateAnswer, c.answer,
		workflow.UpdateHandlerOptions{Validator: c.validateAnswer, Description: "answer the open question: {\"text\":\"...\"}"}); err != nil {
		return fmt.Errorf("register %s: %w", step.UpdateAnswer, err)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, step.UpdateSetState, c.updateState,
		workflow.UpdateHandlerOptions{Validator: c.validateUpdateState, Description: "change the state between runs"}); err != nil {
		return fmt.Errorf("register %s: %w", step.UpdateSetState, err)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, step.UpdateCompact, c.compactThread,
		workflow.UpdateHandlerOptions{Validator: c.validateCompact, Description: "summarise the older messages between runs"}); err != nil {
		return fmt.Errorf("register %s: %w", step.UpdateCompact, err)
	}
	if err := workflow.SetQueryHandlerWithOptions(ctx, step.QueryStatus, func() (StatusReport, error) { return c.report(), nil },
		workflow.QueryHandlerOptions{Description: "what the thread is doing"}); err != nil {
		return fmt.Errorf("register %s: %w", step.QueryStatus, err)
	}
	workflow.GoNamed(ctx, "signals", c.listen)
	return nil
}

// listen takes the signals that people send from the Temporal Web UI or CLI.
func (c *conversation) listen(ctx workflow.Context) {
	if err := workflow.Await(ctx, func() bool { return c.loaded }); err != nil {
		return
	}
	answers := workflow.GetSignalChannel(ctx, step.SignalAnswer)
	cancels := workflow.GetSignalChannel(ctx, step.SignalCancelRun)
	for ctx.Err() == nil {
		s := workflow.NewSelector(ctx)
		s.AddReceive(answers, func(ch workflow.ReceiveChannel, _ bool) {
			var a step.Answer
			ch.Receive(ctx, &a)
			c.signalledAnswer(ctx, a)
		})
		s.AddReceive(cancels, func(ch workflow.ReceiveChannel, _ bool) {
			var r step.CancelRun
			ch.Receive(ctx, &r)
			c.signalledCancel(ctx, r)
		})
		s.Select(ctx)
	}
}

// drain takes signals that nobody has read yet: a continue-as-new would lose
// them.
func (c *conversation) drain(ctx workflow.Context) {
	var a step.Answer
	for workflow.GetSignalChannel(ctx, step.SignalAnswer).ReceiveAsync(&a) {
		c.signalledAnswer(ctx, a)
		a = step.Answer{}
	}
	var r step.CancelRun
	for workflow.GetSignalChannel(ctx, step.SignalCancelRun).ReceiveAsync(&r) {
		c.signalledCancel(ctx, r)
		r = step.CancelRun{}
	}
}

// A signal has no validator: what an update would refuse is refused here.
func (c *conversation) signalledAnswer(ctx workflow.Context, a step.Answer) {
	err := c.validateAnswer(ctx, a)
	if err == nil {
		_, err = c.answer(ctx, a)
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("A signalled answer was not taken", "question", a.ID, "error", err)
		c.notice = "A signalled answer was not taken: " + reason(err) // whoever sent it hears nothing else
		c.show(ctx)
	}
}

func (c *conversation) signalledCancel(ctx workflow.Context, r step.CancelRun) {
	err := c.validateCancel(ctx, r)
	if err == nil {
		_, err = c.cancelRun(ctx, r)
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("A signalled cancel was not taken", "run", r.RunID, "error", err)
	}
}

func (c *conversation) validateSubmit(_ workflow.Context, s step.SubmitRun) error {
	if s.RunID == "" {
		return refuse(step.ErrInvalid, "a run needs an id")
	}
	if !c.loaded {
		return nil
	}
	if slices.Contains(c.st.Taken, s.RunID) {
		return refuse(step.ErrDuplicate, fmt.Sprintf("run %s was taken before", s.RunID))
	}
	return c.admissible(s)
}

// admissible refuses a run that cannot be taken as the thread is now.
func (c *conversation) admissible(s step.SubmitRun) error {
	replaces := s.Multitask == thread.MultitaskInterrupt || s.Multitask == thread.MultitaskRollback
	if c.held != nil && (c.status() != thread.StatusBusy || !replaces) {
		return c.held
	}
	if c.status() == thread.StatusBusy {
		switch s.Multitask {
		case thread.MultitaskInterrupt, thread.MultitaskRollback, thread.MultitaskEnqueue:
			return c.crowded()
		default:
			return refuse(step.ErrBusy, fmt.Sprintf("Thread %s already has an active run", c.in.Thread))
		}
	}
	for _, id := range s.Answers {
		if !slices.ContainsFunc(c.st.Interrupts, func(i thread.Interrupt) bool { return i.ID == id }) {
			return refuse(step.ErrNoQuestion, fmt.Sprintf("question %q is not open: it was answered or cancelled before", id))
		}
	}
	return nil
}

func (c *conversation) submit(ctx workflow.Context, s step.SubmitRun) (step.SubmitResult, error) {
	c.taken++
	if err := c.ready(ctx); err != nil {
		return step.SubmitResult{}, err
	}
	if slices.Contains(c.st.Taken, s.RunID) {
		return step.SubmitResult{RunID: s.RunID, Duplicate: true}, nil
	}
	if err := c.admissible(s); err != nil {
		return step.SubmitResult{}, err
	}
	busy := c.status() == thread.StatusBusy
	c.remember(s.RunID)
	if !busy || s.Multitask == thread.MultitaskEnqueue {
		c.st.Queue = append(c.st.Queue, queuedRun{SubmitRun: s})
		return step.SubmitResult{RunID: s.RunID, Queued: busy}, nil
	}
	// The new run takes the place of the active one and of all that wait. Their
	// messages stay, unless they are rolled back: those of runs that wait are
	// taken into the transcript before they end.
	action := thread.CancelInterrupt
	if s.Multitask == thread.MultitaskRollback {
		action = thread.CancelRollback
		c.dropped = append(c.dropped, c.st.Queue...)
		c.st.Queue = nil
	}
	for i := range c.st.Queue {
		c.st.Queue[i].Stop = true
	}
	c.st.Queue = append(c.st.Queue, queuedRun{SubmitRun: s})
	c.stop(step.CancelRun{Action: action})
	return step.SubmitResult{RunID: s.RunID, Queued: true}, nil
}

func (c *conversation) validateCancel(_ workflow.Context, r step.CancelRun) error {
	if r.Action != "" && r.Action != thread.CancelInterrupt && r.Action != thread.CancelRollback {
		return refuse(step.ErrInvalid, fmt.Sprintf("cancel action %q is neither interrupt nor rollback", r.Action))
	}
	switch owner := r.User == "" || r.User == c.in.User; {
	case !owner:
		return refuse(step.ErrNotCancellable, fmt.Sprintf("Run %s is not cancellable", r.RunID))
	case !c.loaded:
		return nil
	case c.stopping(r):
		return refuse(step.ErrDuplicate, fmt.Sprintf("Run %s is being stopped already", r.RunID))
	case c.cancellable(r):
		return nil
	}
	return c.notCancellable(r)
}

// notCancellable is the refusal of a stop. A run that was never taken is told from
// one that the thread is done with: the first may still be on its way.
func (c *conversation) notCancellable(r step.CancelRun) error {
	if r.RunID != "" && !slices.Contains(c.st.Taken, r.RunID) {
		return refuse(step.ErrUnknownRun, fmt.Sprintf("Run %s was never taken", r.RunID))
	}
	return refuse(step.ErrNotCancellable, fmt.Sprintf("Run %s is not cancellable", r.RunID))
}

func (c *conversation) cancellable(r step.CancelRun) bool {
	if l := c.st.Loop; l != nil && (r.RunID == "" || r.RunID == l.RunID) {
		return true
	}
	is := func(q queuedRun) bool { return q.RunID == r.RunID }
	return slices.ContainsFunc(c.st.Queue, is) || r.RunID != "" && slices.ContainsFunc(c.dropped, is)
}

// stopping reports whether a stop changes nothing, since the run that is being
// worked on is being stopped in that way.
func (c *conversation) stopping(r step.CancelRun) bool {
	l := c.st.Loop
	return l != nil && !l.Waiting && c.cancel != nil && (r.RunID == "" || r.RunID == l.RunID) &&
		(c.cancel.Action == thread.CancelRollback || r.Action != thread.CancelRollback)
}

func (c *conversation) cancelRun(ctx workflow.Context, r step.CancelRun) (step.CancelResult, error) {
	c.taken++
	if err := c.ready(ctx); err != nil {
		return step.CancelResult{}, err
	}
	if !c.cancellable(r) {
		return step.CancelResult{}, c.notCancellable(r)
	}
	out := step.CancelResult{RunID: r.RunID, Status: thread.RunInterrupted}
	if i := slices.IndexFunc(c.st.Queue, func(q queuedRun) bool { return q.RunID == r.RunID }); r.RunID != "" && i >= 0 {
		c.dropped = append(c.dropped, c.st.Queue[i])
		c.st.Queue = slices.Delete(c.st.Queue, i, i+1)
		out.Waiting = true
		return out, nil
	}
	if r.RunID != "" && slices.ContainsFunc(c.dropped, func(q queuedRun) bool { return q.RunID == r.RunID }) {
		out.Waiting = true // a second stop of a run that waited
		return out, nil
	}
	out.RunID = c.st.Loop.RunID
	if c.st.Loop.Waiting {
		c.closeAsked, c.closeBack = true, c.closeBack || r.Action == thread.CancelRollback
		return out, nil
	}
	c.stop(r)
	return out, nil
}

// stop asks the run that is being worked on to end. A second stop changes
// nothing, except that a rollback wins.
func (c *conversation) stop(r step.CancelRun) {
	if c.st.Loop == nil || c.st.Loop.Waiting {
		return
	}
	if c.cancel == nil || r.Action == thread.CancelRollback {
		c.cancel = &r
	}
	if c.cancelTurn != nil {
		c.cancelTurn()
	}
}

func (c *conversation) validateAnswer(_ workflow.Context, a step.Answer) error {
	if a.Text == "" {
		return refuse(step.ErrInvalid, "an answer needs a text")
	}
	if len(a.Text) > longestAnswer {
		return refuse(step.ErrInvalid, fmt.Sprintf("the text of the answer has %d bytes, at most %d can be taken here: send a longer one as a message, through the API", len(a.Text), longestAnswer))
	}
	if !c.loaded {
		return nil
	}
	_, err := c.question(a.ID)
	return err
}

// question finds the open question that an answer is for.
func (c *conversation) question(id string) (thread.Interrupt, error) {
	if c.held != nil {
		return thread.Interrupt{}, c.held
	}
	if l := c.st.Loop; l != nil && l.Waiting && len(c.st.Queue) == 0 && !c.closeAsked {
		for _, i := range c.st.Interrupts {
			if id == "" || id == i.ID {
				return i, nil
			}
		}
	}
	return thread.Interrupt{}, refuse(step.ErrNoQuestion, "no such question is open: it was answered or cancelled before")
}

func (c *conversation) answer(ctx workflow.Context, a step.Answer) (step.AnswerResult, error) {
	c.taken++
	if err := c.ready(ctx); err != nil {
		return step.AnswerResult{}, err
	}
	q, err := c.question(a.ID)
	if err != nil {
		return step.AnswerResult{}, err
	}
	id := c.enqueueOwn(ctx, &q, a.Text)
	return step.AnswerResult{RunID: id}, nil
}

// enqueueOwn queues a run that did not come through the API: an answer to q, or,
// with q nil, to all open questions.
func (c *conversation) enqueueOwn(ctx workflow.Context, q *thread.Interrupt, text string) string {
	id := c.makeRunID(ctx)
	m := thread.AnswerMessage(id+"-answer", q, text)
	run := queuedRun{Message: &m}
	run.RunID = id
	run.Options = c.st.Loop.Options
	if q != nil {
		run.Answers = []string{q.ID}
	}
	c.remember(id)
	c.st.Queue = append(c.st.Queue, run)
	return id
}

// ready waits for the thread's state.
func (c *conversation) ready(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return c.loaded }); err != nil {
		return err
	}
	return c.loadErr
}

func (c *conversation) remember(runID string) {
	c.st.Taken = append(c.st.Taken, runID)
	if n := len(c.st.Taken) - takenKept; n > 0 {
		c.st.Taken = slices.Delete(c.st.Taken, 0, n)
	}
}

func refuse(kind, text string) error {
	return temporal.NewNonRetryableApplicationError(text, kind, nil)
}

// runNamespace keeps derived run ids apart from other derived UUIDs.
var runNamespace = uuid.MustParse("5f0f1f0e-6f3c-4e0b-9a3e-7d1c5b0a9e21")

func deriveUUID(name string) string { return uuid.NewSHA1(runNamespace, []byte(name)).String() }
