package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
)

// LoopVersion is the highest version of the turn loop that this program knows.
const LoopVersion = loopVersion

// firstLoop is the version of loops that do not name theirs.
const firstLoop = 1

// checkLoop tells whether this program may go on with a loop of a version. One
// of a later version is left alone: nobody knows what its next step would be.
func checkLoop(version int) error {
	if version <= loopVersion {
		return nil
	}
	return newer("the turn loop of this run is of version %d, this program knows up to %d", version, loopVersion)
}

// checkState does the same for the state that a thread is kept in.
func checkState(version int) error {
	if version <= stateVersion {
		return nil
	}
	return newer("the state of this thread is of version %d, this program reads up to %d", version, stateVersion)
}

// checkCarried checks what the run before has handed over.
func (c *conversation) checkCarried() error {
	if err := checkState(c.st.Version); err != nil {
		return err
	}
	if l := c.st.Loop; l != nil {
		return checkLoop(l.Version)
	}
	return nil
}

func newer(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf(format, args...)+": it was begun by a newer one, and goes on when that runs again", step.ErrNewer, nil)
}

// hold is what a thread does whose work was begun by a newer program: its
// workflow answers whoever started it and ends, for the newer program to start
// it again from its checkpoint. Only a stop is taken, since that needs to know
// nothing of the loop but where it began.
func (c *conversation) hold(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.drain(ctx)
	if !c.letGo() {
		return c.held
	}
	c.held = nil
	return c.serve(ctx)
}

// letGo reports whether all that this program may not go on with is to be ended.
func (c *conversation) letGo() bool {
	if l := c.st.Loop; l != nil && c.cancel == nil && !c.closeAsked {
		return false
	}
	return !slices.ContainsFunc(c.st.Queue, func(q queuedRun) bool { return !q.Stop && checkLoop(q.LoopVersion) != nil })
}
