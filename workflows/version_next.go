//go:build nextloop

package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// This file stands for the next version of the turn loop, whichever that will
// be: tests build a binary with it, to see that loops which have begun before an
// upgrade are not disturbed by it.
const loopVersion = 2

// openTurn begins each turn of a loop of version 2 with a timer, which is an
// event that a loop of version 1 does not have.
func (c *conversation) openTurn(ctx workflow.Context) error {
	if c.st.Loop.Version < 2 {
		return nil
	}
	timer := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "a turn of loop version 2"})
	return timer.Get(ctx, nil)
}
