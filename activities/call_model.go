package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	"deerflow/internal/tools"
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
		Scope: in.MessageID, KnownCallIDs: a.knownCalls(ctx, in, rows),
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
		Image: a.imageOf(ctx, ref, tools.MaxImageBytes),
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
	rules := retries{model: plan.Summary.Model, call: in.MessageID, policy: plan.Summary.ModelCall}
	n := int(activity.GetInfo(ctx).Attempt)
	seen, err := a.admit(plan, n)
	if err != nil {
		return nil, nil, modelError(ctx, rules, err)
	}
	s := newStreamer(ctx, a.o.Store, owner)
	response, err := chatter.Chat(ctx, request, func(d model.Delta) error {
		seen.answering()
		return s.add(d)
	})
	rest := s.end()
	wait, again := rules.again(err, n)
	seen.ended(err, !again)
	if err == nil {
		return response, rest, nil
	}
	if len(rest) > 0 && ctx.Err() != nil {
		a.keepTail(ctx, owner, rest)
	}
	if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrThreadGone) {
		return nil, nil, border(ctx, "stream the answer", err)
	}
	failed := modelError(ctx, rules, err)
	if again && ctx.Err() == nil {
		a.tellRetry(ctx, rules, owner, err, wait)
	}
	return nil, nil, failed
}

// admit asks the breaker of a plan's provider.
func (a *Activities) admit(plan *agent.Plan, n int) (*attempt, error) {
	provider := providerOf(plan)
	if provider == "" {
		return &attempt{}, nil
	}
	rule := a.o.Config().CircuitBreaker
	return admit(a.breakers.of(provider, rule), n, rule.RecoveryTimeout)
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
func (a *Activities) tellRetry(ctx context.Context, rules retries, owner store.Owner, err error, wait time.Duration) {
	var me *model.Error
	if !errors.As(err, &me) {
		return
	}
	event := store.NewEvent{Type: store.EventCustom, Data: map[string]any{
		"type": "llm_retry", "attempt": int(activity.GetInfo(ctx).Attempt), "max_attempts": rules.most(me),
		"wait_ms": wait.Milliseconds(), "reason": string(me.Class),
		"message": fmt.Sprintf("Model %s: %s. Trying again.", rules.model, strings.TrimRight(me.Message, ". ")),
	}}
	if err := a.o.Store.Append(ctx, owner, event); err != nil {
		a.o.Logger.Warn("Readers were not told of a retry", "run", owner.Ref.Run, "error", err)
	}
}

func (a *Activities) finishModel(ctx context.Context, in step.CallModelInput, plan *agent.Plan, owner store.Owner, response *model.Response, rest []store.NewEvent) (step.CallModelResult, error) {
	doing := "store the answer of run " + in.Run
	message := response.Message
	message.ID = in.MessageID
	if agent.StopForSafety(&message, response.FinishReason, plan.Summary.Safety) {
		response.Rewritten = true
	}
	if in.Attribute {
		if err := a.attribute(ctx, in.Thread, &message); err != nil {
			return step.CallModelResult{}, border(ctx, doing, err)
		}
	}
	last := store.NewRow{Checks: a.checkAnswer(ctx, in.Ref, &message)}
	if message.CallCount() == 0 {
		last.Changes = a.changes(ctx, in.Ref) // commands that run on in the background change files too
	}
	out := step.CallModelResult{
		Message: plan.DigestOf(&message, in.Pos), FinishReason: response.FinishReason, Usage: response.Usage,
	}
	if safety, ok := message.AdditionalKwargs[agent.KeySafety].(map[string]any); ok {
		out.Safety = true
		rest = append(rest, safetyEvent(in, safety))
	}
	if response.Rewritten {
		// Only the end told what the beginning was: readers take the whole message.
		rest = append(rest, store.NewEvent{Type: store.EventReset, Data: store.Reset{MessageID: in.MessageID, Claim: owner.Claim}})
	}
	var err error
	if last.Digest, err = json.Marshal(out); err != nil {
		return out, fmt.Errorf("%s: %w", doing, err)
	}
	last.Pos, last.Message = in.Pos, message
	row, err := a.finish(ctx, owner, last, rest...)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	a.told(in.Ref, last.Changes)
	failpoint.Here(failpoint.AnswerStored, in.Thread)
	return modelResult(doing, &row)
}

const toolWriteTodos = "write_todos"

// attribute stamps what an answer's tokens went to. The plan that it may change
// is the one of the newest commit, which this step has made first.
func (a *Activities) attribute(ctx context.Context, threadID string, m *thread.Message) error {
	var todos []thread.Todo
	if slices.ContainsFunc(m.ToolCalls, func(c thread.ToolCall) bool { return c.Name == toolWriteTodos }) {
		t, err := a.o.Store.GetThread(ctx, threadID)
		if err != nil {
			return err
		}
		todos = t.State.Todos
	}
	m.SetKwarg(agent.KeyAttribution, agent.Attribute(m, todos))
	return nil
}

// safetyEvent tells readers that a provider ended an answer for safety.
func safetyEvent(in step.CallModelInput, safety map[string]any) store.NewEvent {
	data := map[string]any{"type": agent.KeySafety, "thread_id": in.Thread}
	maps.Copy(data, safety)
	return store.NewEvent{Type: store.EventCustom, Data: data}
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
