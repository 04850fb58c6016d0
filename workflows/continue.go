package workflows

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// grown reports whether the history of this workflow run has become long enough
// to continue as new. What it began with does not count: a large carried state
// would make it spin.
func (c *conversation) grown(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	s := c.in.Settings
	return c.taken >= renewAfter || info.GetContinueAsNewSuggested() ||
		s.ContinueEvents > 0 && info.GetCurrentHistoryLength()-c.baseLen >= s.ContinueEvents ||
		s.ContinueBytes > 0 && info.GetCurrentHistorySize()-c.baseSize >= s.ContinueBytes
}

// continueAsNew starts the workflow's next run with a short history. It is
// called between turns only, so no activity is live; handlers and signals are
// drained first, since what they brought would be lost.
func (c *conversation) continueAsNew(ctx workflow.Context) error {
	if err := c.finishHandlers(ctx); err != nil {
		return err
	}
	c.drain(ctx)
	if c.chain != nil {
		if err := c.remind(ctx); err != nil {
			return err
		}
	}
	// A stop, a dropped run or a closed question that came in at the last moment
	// is carried.
	c.st.Late = &late{Cancel: c.cancel, Dropped: c.dropped, Close: c.closeAsked, Back: c.closeBack}
	c.st.Update, c.st.Revisions, c.st.Fresh = c.update, c.revisions, c.fresh
	c.st.Version = stateVersion
	carried, err := json.Marshal(c.st)
	if err != nil {
		return fmt.Errorf("encode the carried state: %w", err)
	}
	next := c.in
	next.Stopped, next.Waiting = false, nil
	next.Carried = carried
	return workflow.NewContinueAsNewError(ctx, Thread, next)
}

// finishHandlers waits until no handler is at work. One that waits for its
// update of the state to be stored gets that done.
func (c *conversation) finishHandlers(ctx workflow.Context) error {
	for {
		if err := c.takeEdits(ctx); err != nil {
			return err
		}
		err := workflow.Await(ctx, func() bool { return len(c.edits) > 0 || workflow.AllHandlersFinished(ctx) })
		if err != nil || len(c.edits) == 0 {
			return err
		}
	}
}

// resume takes up what was asked for while the workflow continued as new.
func (c *conversation) resume() {
	if l := c.st.Late; l != nil {
		c.cancel, c.closeAsked, c.closeBack = l.Cancel, l.Close, l.Back
		c.dropped = append(l.Dropped, c.dropped...)
	}
	c.update, c.revisions, c.fresh = c.st.Update, c.st.Revisions, c.st.Fresh
	c.st.Late = nil
}
