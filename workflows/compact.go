package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// Why a compaction changed nothing.
const (
	notEnoughMessages = "not_enough_messages"
	notTriggered      = "below_trigger"
	doneBefore        = "done_before"
)

func (c *conversation) validateCompact(_ workflow.Context, k step.Compact) error {
	if !thread.IsUpdate(k.ID) {
		return refuse(step.ErrInvalid, fmt.Sprintf("the id of a compaction begins with %q, got %q", thread.UpdatePrefix, k.ID))
	}
	if !c.loaded {
		return nil
	}
	return c.editable()
}

// compactThread is the handler of a compaction that a person asks for.
func (c *conversation) compactThread(ctx workflow.Context, k step.Compact) (step.CompactResult, error) {
	c.taken++
	if err := c.ready(ctx); err != nil {
		return step.CompactResult{}, err
	}
	if slices.Contains(c.st.Taken, k.ID) {
		out := c.unchanged()
		out.Reason = doneBefore
		return out, nil
	}
	if err := c.editable(); err != nil {
		return step.CompactResult{}, err
	}
	c.remember(k.ID)
	e := &edit{compact: &k}
	c.edits = append(c.edits, e)
	if err := workflow.Await(ctx, func() bool { return e.done }); err != nil {
		return step.CompactResult{}, err
	}
	return e.compacted, e.err
}

// compactNow summarises between runs, by the configuration in force. Unlike in a
// run, a summary that no model writes is an error for whoever asked: nothing
// presses. Its own error is one of the thread.
func (c *conversation) compactNow(ctx workflow.Context, e *edit) error {
	e.compacted = c.unchanged()
	plan, out, err := c.summarizeNow(ctx, e)
	switch {
	case typed(err, step.ErrThreadGone):
		return err
	case err != nil:
		e.err = refuse(step.ErrNoSummary, "The conversation was not compacted: "+reason(err))
		if typed(err, step.ErrInvalid) {
			e.err = err
		}
		return nil
	case out == nil:
		return nil
	}
	return c.storeCompaction(ctx, e, plan, out)
}

// unchanged is the result of a compaction that did nothing.
func (c *conversation) unchanged() step.CompactResult {
	kept := len(c.digests)
	if c.st.Cursor.Compacted != nil {
		kept-- // the summary
	}
	return step.CompactResult{Preserved: kept, TotalTokens: c.weight(), CheckpointID: c.st.Checkpoint}
}

// summarizeNow gives no summary when there is nothing to do; the result of e
// says why.
func (c *conversation) summarizeNow(ctx workflow.Context, e *edit) (agent.Compaction, *step.SummarizeResult, error) {
	k := e.compact
	ref := step.Ref{Thread: c.in.Thread, User: c.in.User, Run: k.ID, Step: 1}
	options := k.Options
	if k.Model != "" {
		options.Model = k.Model
	}
	var resolved step.ResolvePlanResult
	err := c.activity(startRunOptions(ctx), step.ResolvePlan, step.ResolvePlanInput{Ref: ref, Options: options}, &resolved)
	if err != nil {
		return agent.Compaction{}, nil, err
	}
	plan, why, err := c.planCompaction(k, &resolved.Plan)
	if err != nil || why != "" {
		e.compacted.Reason = why
		return plan, nil, err
	}
	out, err := c.summarize(ctx, step.SummarizeInput{
		Ref: ref, MessageID: thread.MessageID(k.ID, 1), Pos: c.position(), PlanHash: resolved.PlanHash,
		Cursor: c.withUnknown(plan.Old), Previous: plan.Previous, Count: plan.Removed,
	})
	if err == nil && out.Message == nil {
		err = errors.New(out.Failed)
	}
	return plan, &out, err
}

// planCompaction decides what is summarised, or says why nothing is.
func (c *conversation) planCompaction(k *step.Compact, plan *agent.Summary) (agent.Compaction, string, error) {
	rule := plan.Summarization
	if rule == nil || rule.Disabled {
		return agent.Compaction{}, "", refuse(step.ErrInvalid, "Summarization is disabled: set summarization.enabled in config.yaml")
	}
	load := agent.Load{Messages: len(c.digests), Tokens: c.weight(), Total: c.weight() + plan.Window.Fixed}
	if !k.Force && !rule.Reached(load, plan.Window).Reached {
		return agent.Compaction{}, notTriggered, nil
	}
	keep := rule.Keep
	if k.Keep > 0 {
		keep = agent.Measure{Type: agent.MeasureMessages, Value: float64(k.Keep)}
	}
	planned, some := agent.PlanCompaction(agent.CompactionInput{
		Messages: c.digests, Compacted: c.st.Cursor.Compacted, Keep: keep, Rule: rule, Window: plan.Window.Size,
	})
	if !some {
		return planned, notEnoughMessages, nil
	}
	return planned, "", nil
}

// storeCompaction puts the summary in force, in a commit of its own.
func (c *conversation) storeCompaction(ctx workflow.Context, e *edit, plan agent.Compaction, out *step.SummarizeResult) error {
	c.compact(&middleware.Compaction{Summary: *out.Message, Cut: plan.Cut, Rescued: plan.Rescued})
	c.st.Tokens += out.Usage.TotalTokens
	if err := c.apply(thread.StateUpdate{Summary: &thread.SummaryRef{MessageID: out.Message.ID, Tokens: out.Message.Tokens}}); err != nil {
		return err
	}
	in, err := c.newCommit(ctx, step.Ref{Thread: c.in.Thread, User: c.in.User, Run: e.compact.ID, Step: 2})
	if err != nil {
		return err
	}
	if _, err := c.commit(ctx, in); err != nil {
		return err
	}
	e.compacted = step.CompactResult{
		Compacted: true, Removed: plan.Removed, Preserved: plan.Preserved, SummaryUpdated: true,
		CheckpointID: in.CheckpointID, TotalTokens: c.weight(),
	}
	return nil
}

// weight is about how many tokens the messages have that the model reads.
func (c *conversation) weight() int {
	total := 0
	for i := range c.digests {
		total += agent.Weigh(&c.digests[i])
	}
	return total
}
