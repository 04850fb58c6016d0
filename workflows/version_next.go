//go:build nextloop

package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// This file stands for the next version of the turn loop, whichever that will
// be: tests build a binary with it, to see that loops which have begun before an
// upgrade are not disturbed by it.
const loopVersion = 3

// openTurn begins each turn of a loop of version 3 with a timer, which is an
// event that loops of lower versions do not have.
func (c *conversation) openTurn(ctx workflow.Context) error {
	if c.st.Loop.Version < 3 {
		return nil
	}
	timer := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "a turn of loop version 3"})
	return timer.Get(ctx, nil)
}
