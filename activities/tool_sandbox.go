package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

// workplace is the sandbox of a call and what the thread has to know about it.
type workplace struct {
	box     sandbox.Sandbox
	state   *thread.SandboxRef // what changes in the thread's state
	note    string             // what changes for the model
	refusal string             // why the call must not be made there
}

// workplace gets the sandbox of a thread. One that was lost is made again and the
// model is told; so it is when the same files have got another provider. A call is
// refused when it would work on other files than those before it.
func (a *Activities) workplace(ctx context.Context, in step.CallToolInput) (*workplace, error) {
	box, err := a.o.Sandboxes.Acquire(ctx, in.User, in.Thread)
	if errors.Is(err, sandbox.ErrUnavailable) {
		err = &sandbox.UnreachableError{Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("get the sandbox of thread %s: %w", in.Thread, err)
	}
	w := &workplace{box: box}
	switch before := in.Rules.Sandbox; {
	case before == "":
		w.state = &thread.SandboxRef{ID: box.ID()}
	case before == box.ID():
	case sandbox.SameFiles(before, box.ID()):
		w.state = &thread.SandboxRef{ID: box.ID(), From: before}
		w.note = fmt.Sprintf("Note: the sandbox of this conversation is now %s instead of %s. The files are the same; what commands may reach can differ.", box.ID(), before)
	default:
		w.refusal = fmt.Sprintf("Error: the sandbox of this thread, %s, is gone, and %s was not run in another one. "+
			"Tell the user that the files of this thread cannot be reached.", before, in.Name)
	}
	if in.Rules.Sandbox != "" && box.Fresh() && w.refusal == "" {
		w.note = "Note: the sandbox of this conversation was lost and has been made again. Files from before are gone: look before you rely on one."
	}
	if n, ok := box.(sandbox.Noticer); ok && n.Notice() != "" {
		w.note = strings.TrimPrefix(w.note+"\n\n"+n.Notice(), "\n\n")
	}
	return w, nil
}

// A sandbox that cannot be had may be back soon, or there for another worker: the
// attempts that follow pause so long, and the last one begins before the patience with
// all of them is over.
const (
	sandboxPause    = 5 * time.Second
	sandboxPatience = 30 * time.Second
)

// readyWorkplace gets the workplace of a call and, for a command, brings up the machine
// behind it. When the last attempt cannot have it, the model is told so: the workplace
// refuses the call.
func (a *Activities) readyWorkplace(ctx context.Context, in step.CallToolInput, command bool) (*workplace, error) {
	w, err := a.workplace(ctx, in)
	if err == nil && command {
		err = w.prepare(ctx)
	}
	var away *sandbox.UnreachableError
	if !errors.As(err, &away) || ctx.Err() != nil {
		return w, err
	}
	last := lastForSandbox(activity.GetInfo(ctx), time.Now(), a.sandboxPatience)
	a.o.Logger.Warn("The sandbox of a call cannot be reached", "thread", in.Thread, "tool", in.Name, "error", err, "tried_again", !last)
	if !last {
		return nil, err
	}
	return &workplace{refusal: fmt.Sprintf("Error: %v; %s was not run. Go on without it, or try again later.", away, in.Name)}, nil
}

// lastForSandbox reports whether no attempt should follow one whose sandbox could not
// be had.
func lastForSandbox(info activity.Info, now time.Time, patience time.Duration) bool {
	if now.Sub(info.ScheduledTime) >= patience {
		return true
	}
	p := info.RetryPolicy
	return p != nil && p.MaximumAttempts > 0 && info.Attempt >= p.MaximumAttempts
}

// prepare brings up the machine behind the sandbox, if it has one.
func (w *workplace) prepare(ctx context.Context) error {
	machine, ok := w.box.(sandbox.Preparer)
	if !ok || w.refusal != "" {
		return nil
	}
	if err := machine.Prepare(ctx); err != nil {
		return fmt.Errorf("bring up the sandbox %s: %w", w.box.ID(), err)
	}
	return nil
}

// tell adds to a result what the sandbox has changed.
func (w *workplace) tell(r *tools.Result) {
	r.State.Sandbox = w.state
	if w.note != "" {
		r.Text += "\n\n" + w.note
	}
}
