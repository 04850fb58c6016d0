package activities

import (
	"context"
	"fmt"
	"strings"

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
