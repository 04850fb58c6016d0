package workflows

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
)

// waiting is what only the workflow knows when it starts anew from the thread's
// checkpoint: all else stands in the store.
type waiting struct {
	Queue   []queuedRun     `json:"queue,omitempty"`
	Dropped []queuedRun     `json:"dropped,omitempty"`
	Close   bool            `json:"close,omitempty"`
	Back    bool            `json:"back,omitempty"`
	Cancel  *step.CancelRun `json:"cancel,omitempty"`
}

// reload starts the workflow anew from the thread's checkpoint. The thread has
// gone on without this run of the workflow: a person has reset it to a place
// before, or another one was started while its worker stood still.
func (c *conversation) reload(ctx workflow.Context) error {
	c.refuseEdits(c.overtaken())
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.drain(ctx)
	w := waiting{Queue: c.st.Queue, Dropped: c.dropped, Close: c.closeAsked, Back: c.closeBack, Cancel: c.cancel}
	if l := c.st.Loop; l != nil {
		if l.Next != nil {
			w.Queue = slices.Insert(w.Queue, 0, *l.Next)
		}
		if w.Cancel != nil {
			w.Cancel.RunID = l.RunID
		}
	}
	data, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode what waits: %w", err)
	}
	next := c.in
	next.Stopped, next.Carried, next.Waiting = false, nil, data
	return workflow.NewContinueAsNewError(ctx, Thread, next)
}

// takeWaiting takes up what waited when the workflow started anew.
func (c *conversation) takeWaiting() error {
	if c.in.Waiting == nil {
		return nil
	}
	var w waiting
	if err := json.Unmarshal(c.in.Waiting, &w); err != nil {
		return temporal.NewNonRetryableApplicationError("what waited cannot be read: "+err.Error(), step.ErrInvalid, err)
	}
	for _, r := range w.Queue {
		if !slices.Contains(c.st.Taken, r.RunID) {
			c.remember(r.RunID)
			c.st.Queue = append(c.st.Queue, r)
		}
	}
	c.dropped = append(c.dropped, w.Dropped...)
	if l := c.st.Loop; l != nil && l.Waiting {
		c.closeAsked, c.closeBack = w.Close, w.Back
	}
	if w.Cancel == nil {
		return nil
	}
	if l := c.st.Loop; l != nil && !l.Waiting && l.RunID == w.Cancel.RunID {
		c.cancel = w.Cancel
	}
	for i := range c.st.Queue {
		if c.st.Queue[i].RunID == w.Cancel.RunID {
			c.st.Queue[i].Stop = true
		}
	}
	return nil
}
