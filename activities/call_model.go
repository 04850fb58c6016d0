package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// CallModel makes one model call: it claims the message, streams the answer
// into the event log, and stores it. An attempt that finds the row complete
// returns it, so an answer is not paid for twice.
func (a *Activities) CallModel(parent context.Context, in step.CallModelInput) (step.CallModelResult, error) {
	failpoint.Here(failpoint.ModelBegun, in.Thread)
	var out step.CallModelResult
	ctx, done, err := alive(parent)
	if err != nil {
		return out, err
	}
	defer done()
	doing := fmt.Sprintf("turn %d of run %s", in.Turn, in.Run)
	claim, err := a.o.Store.Claim(ctx, store.Claim{Ref: in.Ref, MessageID: in.MessageID, Commit: in.Commit})
	if err != nil {
		return out, border(ctx, doing, err)
	}
	if claim.Done != nil {
		return modelResult(doing, claim.Done)
	}
	plan, err := a.plan(ctx, in.PlanHash)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	request, err := a.request(ctx, in, plan)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	owner := store.Owner{Ref: in.Ref, MessageID: in.MessageID, Claim: claim.Claim}
	response, rest, err := a.chat(ctx, in, plan, request, owner)
	if err != nil {
		return out, err
	}
	return a.finishModel(ctx, in, plan, owner, response, rest)
}

// request reads the transcript in view and applies the edits of this call.
func (a *Activities) request(ctx context.Context, in step.CallModelInput, plan *agent.Plan) (model.Request, error) {
	rows, err := a.o.Store.Messages(ctx, in.Thread, in.Cursor)
	if err != nil {
		return model.Request{}, err
	}
	messages := make([]thread.Message, 0, len(rows))
	for _, r := range rows {
		messages = append(messages, r.Message)
	}
	messages, err = agent.ApplyEdits(messages, in.Edits, a.sources(ctx, in.Ref))
	if err != nil {
		return model.Request{}, err
	}
	return model.Request{
		System: plan.Prompt, Messages: agent.WithContext(messages), Tools: offered(plan.Tools, in.Hidden),
		NoTools: in.NoTools, Thinking: plan.Thinking, Effort: plan.Effort,
		Scope: in.MessageID, KnownCallIDs: a.askedBefore(ctx, in.Thread),
	}, nil
}

// sources are where edits get what they show.
func (a *Activities) sources(ctx context.Context, ref step.Ref) agent.Sources {
	return agent.Sources{
		Context: func(id string) ([]thread.ContextBlock, error) {
			row, err := a.o.Store.GetMessage(ctx, ref.Thread, id)
			if err != nil {
				return nil, err
			}
			return row.Message.Context(), nil
		},
	}
}

// offered are the tools without the hidden ones.
func offered(tools []agent.ToolSpec, hidden []string) []agent.ToolSpec {
	if len(hidden) == 0 {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t agent.ToolSpec) bool { return slices.Contains(hidden, t.Name) })
}

// askedBefore knows the calls that have asked a question in the thread, also
// those that a rollback took out of view: the id of a question is made of the
// id of its call, and must not be that of an older one.
func (a *Activities) askedBefore(ctx context.Context, threadID string) func(string) bool {
	return func(callID string) bool {
		known, err := a.o.Store.HasMessage(ctx, threadID, thread.ClarificationID(callID))
		if err != nil {
			a.o.Logger.Warn("The questions of a thread could not be looked through", "thread", threadID, "error", err)
		}
		return known
	}
}

// chat makes the call. It returns with the pieces that are not written yet.
func (a *Activities) chat(ctx context.Context, in step.CallModelInput, plan *agent.Plan, request model.Request, owner store.Owner) (*model.Response, []store.NewEvent, error) {
	chatter, err := a.chatter(plan)
	if err != nil {
		return nil, nil, border(ctx, "prepare model "+plan.Summary.Model, err)
	}
	s := newStreamer(ctx, a.o.Store, owner)
	response, err := chatter.Chat(ctx, request, s.add)
	rest := s.end()
	if err == nil {
		return response, rest, nil
	}
	if len(rest) > 0 && ctx.Err() != nil {
		a.keepTail(ctx, owner, rest)
	}
	if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrThreadGone) {
		return nil, nil, border(ctx, "stream the answer", err)
	}
	failed := modelError(ctx, err)
	a.tellRetry(ctx, in, plan, owner, err)
	return nil, nil, failed
}

// keepTail writes the last pieces of a call that was stopped: what a user saw,
// or was about to see, stays.
func (a *Activities) keepTail(ctx context.Context, owner store.Owner, rest []store.NewEvent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
	defer cancel()
	if err := a.o.Store.Append(ctx, owner, rest...); err != nil && !errors.Is(err, store.ErrFenced) {
		a.o.Logger.Warn("The last words of a stopped answer were not stored", "message", owner.MessageID, "error", err)
	}
}

// tellRetry lets readers know that the call is made again.
func (a *Activities) tellRetry(ctx context.Context, in step.CallModelInput, plan *agent.Plan, owner store.Owner, err error) {
	var me *model.Error
	if !errors.As(err, &me) || !me.Retryable || ctx.Err() != nil {
		return
	}
	policy := plan.Summary.ModelCall
	attempt := int(activity.GetInfo(ctx).Attempt)
	wait := me.RetryAfter
	if wait == 0 {
		wait = min(policy.BaseDelay<<min(attempt-1, 20), policy.MaxDelay)
	}
	event := store.NewEvent{Type: store.EventCustom, Data: map[string]any{
		"type": "llm_retry", "attempt": attempt, "max_attempts": policy.MaxAttempts,
		"wait_ms": wait.Milliseconds(), "reason": string(me.Class),
		"message": fmt.Sprintf("Model %s: %s. Trying again.", plan.Summary.Model, strings.TrimRight(me.Message, ". ")),
	}}
	if err := a.o.Store.Append(ctx, owner, event); err != nil {
		a.o.Logger.Warn("Readers were not told of a retry", "run", in.Run, "error", err)
	}
}

func (a *Activities) finishModel(ctx context.Context, in step.CallModelInput, plan *agent.Plan, owner store.Owner, response *model.Response, rest []store.NewEvent) (step.CallModelResult, error) {
	doing := "store the answer of run " + in.Run
	message := response.Message
	message.ID = in.MessageID
	out := step.CallModelResult{
		Message: plan.DigestOf(&message, in.Pos), FinishReason: response.FinishReason, Usage: response.Usage,
	}
	if response.Rewritten {
		// Only the end told what the beginning was: readers take the whole message.
		rest = append(rest, store.NewEvent{Type: store.EventReset, Data: store.Reset{MessageID: in.MessageID, Claim: owner.Claim}})
	}
	kept, err := json.Marshal(out)
	if err != nil {
		return out, fmt.Errorf("%s: %w", doing, err)
	}
	row, err := a.finish(ctx, owner, store.NewRow{Pos: in.Pos, Message: message, Digest: kept}, rest...)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	failpoint.Here(failpoint.AnswerStored, in.Thread)
	return modelResult(doing, &row)
}

// modelResult is what the row holds: the row decides, whoever wrote it.
func modelResult(doing string, row *store.Row) (step.CallModelResult, error) {
	var out step.CallModelResult
	if len(row.Digest) == 0 {
		// Sealed by a commit: the text stands, no calls.
		out.Message = (&agent.Plan{}).DigestOf(&row.Message, row.Pos)
		return out, nil
	}
	if err := json.Unmarshal(row.Digest, &out); err != nil {
		return out, fmt.Errorf("%s: read what message %s returned: %w", doing, row.ID, err)
	}
	return out, nil
}
