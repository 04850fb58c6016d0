package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// Summarize stores a message that stands for a part of the transcript. An
// attempt that finds it complete returns it, so it is not paid for twice.
// Nothing of it is streamed: it is not the answer that a user waits for (D10).
func (a *Activities) Summarize(parent context.Context, in step.SummarizeInput) (step.SummarizeResult, error) {
	var out step.SummarizeResult
	ctx, done, err := alive(parent)
	if err != nil {
		return out, err
	}
	defer done()
	doing := "compact thread " + in.Thread
	claim, err := a.o.Store.Claim(ctx, store.Claim{Ref: in.Ref, MessageID: in.MessageID, Commit: in.Commit})
	if err != nil {
		return out, border(ctx, doing, err)
	}
	if claim.Done != nil {
		return summaryResult(doing, claim.Done)
	}
	plan, err := a.plan(ctx, in.PlanHash)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	material, err := a.summaryInput(ctx, in, plan)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	written, err := a.writeSummary(ctx, in, plan, material)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	out.Usage = written.usage
	if written.text == "" {
		if written.retryable && int(activity.GetInfo(ctx).Attempt) < step.SideAttempts {
			return out, fmt.Errorf("%s: %s", doing, written.failed())
		}
		a.o.Logger.Warn("No model wrote a summary", "thread", in.Thread, "run", in.Run, "reason", written.failed())
		if !in.Plain {
			out.Failed = written.failed()
			return out, nil
		}
		written.text = agent.PlainSummary(material)
	}
	return a.finishSummary(ctx, in, store.Owner{Ref: in.Ref, MessageID: in.MessageID, Claim: claim.Claim}, written, out)
}

// summaryInput reads what is summarised.
func (a *Activities) summaryInput(ctx context.Context, in step.SummarizeInput, plan *agent.Plan) (agent.SummaryInput, error) {
	material := agent.SummaryInput{
		Tokens: plan.Summary.Window.SummaryTokens(), Trim: plan.Summarizer.TrimTokens, Prompt: plan.Summarizer.Prompt,
	}
	if size := plan.Summary.Window.Size; size > 0 {
		material.Trim = min(material.Trim, size/2)
	}
	rows, err := a.o.Store.Messages(ctx, in.Thread, in.Cursor)
	if err != nil {
		return material, err
	}
	for i := range rows {
		material.Messages = append(material.Messages, rows[i].Message)
	}
	if in.Previous == nil {
		return material, nil
	}
	before, err := a.o.Store.Messages(ctx, in.Thread, thread.Cursor{Segments: []thread.Segment{{From: *in.Previous, To: *in.Previous + 1}}})
	for i := range before {
		material.Existing = before[i].Message.Content.String()
	}
	return material, err
}

func (a *Activities) finishSummary(ctx context.Context, in step.SummarizeInput, owner store.Owner, written summaryText, out step.SummarizeResult) (step.SummarizeResult, error) {
	doing := "store the summary of thread " + in.Thread
	message := thread.Summary(in.MessageID, written.text)
	digest := message.Digest(in.Pos)
	out.Message = &digest
	kept, err := json.Marshal(out)
	if err != nil {
		return out, fmt.Errorf("%s: %w", doing, err)
	}
	row, err := a.o.Store.Finish(ctx, owner, store.NewRow{Pos: in.Pos, Message: message, Digest: kept}, written.events(in.Count)...)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	return summaryResult(doing, &row)
}

// events tell readers that the conversation was compacted, and who could not
// write the summary.
func (s *summaryText) events(messages int) []store.NewEvent {
	done := store.NewEvent{Type: store.EventCustom, Data: map[string]any{
		"type": "summarization", "messages": messages, "model": s.model,
	}}
	if len(s.failures) == 0 {
		return []store.NewEvent{done}
	}
	text := "The older part of the conversation was compacted, but " + strings.Join(s.failures, "; ")
	if s.model == "" {
		text += ". Only the first words of the older messages are left to the model."
	} else {
		text += fmt.Sprintf(". Model %s wrote the summary in its place.", s.model)
	}
	return []store.NewEvent{done, {Type: store.EventCustom, Data: map[string]any{"type": "summarization_warning", "message": text}}}
}

// summaryResult is what the row holds.
func summaryResult(doing string, row *store.Row) (step.SummarizeResult, error) {
	var out step.SummarizeResult
	if err := json.Unmarshal(row.Digest, &out); err != nil {
		return out, fmt.Errorf("%s: read what message %s returned: %w", doing, row.ID, err)
	}
	return out, nil
}
