package middleware

import (
	"encoding/json"
	"errors"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Summarization compacts a transcript that grows too long (spec 10): the older
// part is summarised, the newer part, the question of the user and the skill
// guides that were read last stay word for word. The whole transcript stays
// listed; only what the model reads moves.
//
// It looks before every model call (D09), at the configured triggers, any of
// which is enough, and always, also when it is disabled, at the model's window
// as far as that is known: a request has room for the window less the answer,
// the prompt, the schemas of the tools and a margin (D02). Weights are estimates
// that the activities made, scaled by what the provider has reported. When the
// rest does not fit even so, long messages are shortened in the request (D01).
// When the provider still finds the request too long, as much as possible is
// compacted and the call is made once more (D03).
//
// A summary is a message that only models read, as in the seed, not a channel of
// the state. Where DeerFlow leaves the history alone when no model writes a
// summary, the activity stores the first words of the old messages instead: a
// history that grows in silence ends in a run that fails.
type Summarization struct {
	Base
	rule   agent.SummarizationRule
	window agent.WindowRule
	state  summarizationState
}

type summarizationState struct {
	Estimated int `json:"e,omitempty"` // of the last request, prompt and schemas included
	Reported  int `json:"r,omitempty"` // by the provider, of the same
	Total     int `json:"t,omitempty"` // with the answer to it
	Rest      int `json:"p,omitempty"` // calls for which triggers are not looked at
}

const (
	// restAfterFailure: a compaction that failed is not tried again at once.
	restAfterFailure = 5
	// mostScale bounds how much more a provider counts than we do, in percent.
	mostScale = 125
	// guardTokens are for the lines around what a user said.
	guardTokens = 16
	// imageTokens are for an image that the next request shows.
	imageTokens = 1000
)

// NewSummarization makes the middleware; without a rule only the window counts.
func NewSummarization(_ workflow.Context, rule *agent.SummarizationRule, window agent.WindowRule) *Summarization {
	s := &Summarization{window: window}
	if rule != nil {
		s.rule = *rule
	}
	if s.rule.Keep.Type == "" {
		s.rule.Keep = agent.Measure{Type: agent.MeasureMessages, Value: 20}
	}
	return s
}

// Name is Summarization.
func (*Summarization) Name() string { return NameSummarization }

// BeforeModel compacts when it is due.
func (s *Summarization) BeforeModel(ctx workflow.Context, run *Run) (Update, error) {
	plan, due := s.plan(run)
	if !due {
		return Update{}, nil
	}
	out, err := s.summarize(ctx, run, plan)
	if err != nil || out == nil {
		return Update{}, err
	}
	return s.compacted(plan, out), nil
}

// plan decides whether to compact, and what.
func (s *Summarization) plan(run *Run) (agent.Compaction, bool) {
	room := s.window.Room()
	in := agent.CompactionInput{
		Messages: run.Messages, Compacted: run.Compacted, Keep: s.rule.Keep, Rule: &s.rule, Window: s.window.Size,
	}
	if room > 0 {
		in.Messages = agent.Shown(run.Messages, room)
	}
	load := s.load(run, in.Messages)
	if room > 0 && load.Total-s.window.Fixed > room {
		in.Most = room / 2 // or the next turn would be too much again
		plan, some := agent.PlanCompaction(in)
		return plan, some && plan.Gained >= room/10
	}
	if s.state.Rest > 0 {
		s.state.Rest--
		return agent.Compaction{}, false
	}
	limit := s.rule.Reached(load, s.window)
	if !limit.Reached {
		return agent.Compaction{}, false
	}
	plan, some := agent.PlanCompaction(in)
	if some && limit.Tokens > 0 && plan.Kept >= limit.Tokens {
		in.Most = limit.Tokens / 2 // what stays would be the next trigger
		plan, some = agent.PlanCompaction(in)
	}
	return plan, some && plan.Gained >= limit.Gain
}

// load is how full the next request is.
func (s *Summarization) load(run *Run, messages []thread.Digest) agent.Load {
	load := agent.Load{Messages: len(messages)}
	for i := range messages {
		load.Tokens += agent.Weigh(&messages[i])
		if run.Plan.Input != nil && messages[i].UserText() {
			load.Tokens += guardTokens
		}
	}
	load.Tokens += imageTokens * len(run.State.ViewedImages)
	if d := summaryOf(run); d != nil {
		load.Tokens += agent.WeighEdits([]agent.Edit{wrapSummary(run, d.ID, run.Messages)})
	}
	load.Total = max(s.scaled(s.window.Fixed+load.Tokens), s.state.Total)
	return load
}

// scaled is an estimate as the provider is expected to count.
func (s *Summarization) scaled(tokens int) int {
	return tokens * s.scale() / 100
}

func (s *Summarization) scale() int {
	if s.state.Estimated == 0 {
		return 100
	}
	return min(max(s.state.Reported*100/s.state.Estimated, 100), mostScale)
}

// summarize has the summary written. Without one the run goes on (D09); its
// error is a cancel, or the end of the thread.
func (s *Summarization) summarize(ctx workflow.Context, run *Run, plan agent.Compaction) (*step.SummarizeResult, error) {
	out, err := run.Steps.Summarize(ctx, step.SummarizeInput{Cursor: plan.Old, Previous: plan.Previous, Count: plan.Removed, Plain: true})
	var app *temporal.ApplicationError
	switch {
	case err == nil && out.Message != nil:
		return &out, nil
	case ctx.Err() != nil, errors.As(err, &app) && app.Type() == step.ErrThreadGone:
		return nil, err
	}
	s.state.Rest = restAfterFailure
	workflow.GetLogger(ctx).Warn("The conversation was not compacted", "run", run.RunID, "reason", out.Failed, "error", err)
	return nil, nil
}

// compacted is what a summary changes.
func (s *Summarization) compacted(plan agent.Compaction, out *step.SummarizeResult) Update {
	s.state.Total = 0 // it was of what is not sent any more
	return Update{
		Compact: &Compaction{Summary: *out.Message, Cut: plan.Cut, Rescued: plan.Rescued},
		State:   thread.StateUpdate{Summary: &thread.SummaryRef{MessageID: out.Message.ID, Tokens: out.Message.Tokens}},
		Usage:   &out.Usage,
	}
}

// EditRequest shortens what does not fit.
func (s *Summarization) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if room := s.window.Room(); room > 0 {
		room = room*100/s.scale() - agent.WeighEdits(request.Edits)
		request.Edits = append(request.Edits, agent.Fit(run.Messages, room)...)
	}
	return nil
}

// AroundModel learns how the provider counts, and compacts hard when the request
// is too long for it.
func (s *Summarization) AroundModel(ctx workflow.Context, run *Run, request *Request, next ModelCall) (ModelReply, error) {
	messages := run.Messages
	reply, err := next(ctx, request)
	if tooLong(err) {
		shorter, hardErr := s.shorten(ctx, run, request)
		switch {
		case hardErr != nil:
			return reply, hardErr
		case shorter == nil:
			return reply, err
		}
		messages = shorter
		reply, err = next(ctx, request)
	}
	if err == nil && reply.Usage.InputTokens > 0 {
		s.state.Estimated = s.window.Fixed + s.weight(messages, request)
		s.state.Reported, s.state.Total = reply.Usage.InputTokens, reply.Usage.TotalTokens
	}
	return reply, err
}

func (s *Summarization) weight(messages []thread.Digest, request *Request) int {
	total := agent.WeighEdits(request.Edits)
	if room := s.window.Room(); room > 0 {
		messages = agent.Shown(messages, room)
	}
	for i := range messages {
		total += agent.Weigh(&messages[i])
	}
	return total
}

func tooLong(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == step.ErrContextLength
}

// shorten compacts as much as possible, changes the request accordingly, and
// cuts what is still more than half of what was refused. It gives the messages
// that the request has now; nil when nothing could be taken from it.
func (s *Summarization) shorten(ctx workflow.Context, run *Run, request *Request) ([]thread.Digest, error) {
	room := s.weight(run.Messages, request) / 2
	if known := s.window.Room(); known > 0 {
		room = min(room, known*3/4)
	}
	messages := run.Messages
	plan, some := agent.PlanCompaction(agent.CompactionInput{Messages: messages, Compacted: run.Compacted, Least: true})
	if some {
		out, err := s.summarize(ctx, run, plan)
		if err != nil {
			return nil, err
		}
		if some = out != nil; some {
			if err := run.Apply(ctx, s.compacted(plan, out)); err != nil {
				return nil, err
			}
			messages = afterCompaction(messages, plan, *out.Message)
			request.Edits = append(request.Edits, repeatTold(run)...)
			request.Edits = append(request.Edits, wrapSummary(run, out.Message.ID, messages))
		}
	}
	cuts := agent.Fit(messages, room)
	if !some && len(cuts) == 0 {
		return nil, nil
	}
	request.Edits = append(request.Edits, cuts...)
	return messages, nil
}

// afterCompaction are the messages that the model reads then.
func afterCompaction(messages []thread.Digest, plan agent.Compaction, summary thread.Digest) []thread.Digest {
	view := []thread.Digest{summary}
	for _, d := range messages {
		if plan.Previous != nil && d.Pos == *plan.Previous {
			continue
		}
		if d.Pos >= plan.Cut || slices.Contains(plan.Rescued, d.Pos) {
			view = append(view, d)
		}
	}
	return view
}

// Save keeps what was learned.
func (s *Summarization) Save(workflow.Context) (json.RawMessage, error) {
	if s.state == (summarizationState{}) {
		return nil, nil
	}
	return json.Marshal(s.state)
}

// Restore takes it back.
func (s *Summarization) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &s.state)
}
