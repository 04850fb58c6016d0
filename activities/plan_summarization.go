package activities

import (
	"context"
	"fmt"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// summarizationRule is when a transcript is compacted. There is always one:
// what does not fit into the window any more is compacted in any case.
func summarizationRule(cfg *config.Config) *agent.SummarizationRule {
	s := cfg.Summarization
	rule := &agent.SummarizationRule{
		Disabled: !s.Enabled, Keep: measure(s.Keep),
		SkillCount: s.PreserveRecentSkillCount, SkillTokens: s.PreserveRecentSkillTokens,
		SkillTokensEach: s.PreserveRecentSkillTokensPerSkill, ReadTools: s.SkillFileReadToolNames,
	}
	if s.Enabled {
		for _, t := range s.Trigger {
			rule.Triggers = append(rule.Triggers, measure(t))
		}
	}
	return rule
}

func measure(m config.Measure) agent.Measure { return agent.Measure{Type: m.Type, Value: m.Value} }

// summarizer is who writes the summaries of a run.
func summarizer(cfg *config.Config) agent.Summarizer {
	s := cfg.Summarization
	return agent.Summarizer{Model: s.ModelName, TrimTokens: s.TrimTokensToSummarize, Prompt: s.SummaryPrompt}
}

// windowRule is the room of the plan's model.
func windowRule(m config.Model, plan *agent.Plan) agent.WindowRule {
	w := agent.WindowRule{
		Size: m.ContextWindow, Output: m.MaxTokens,
		Fixed: thread.TokensPerMessage + thread.EstimateTokens(plan.Prompt) + model.EstimateTools(plan.Tools),
	}
	if w.Output == 0 {
		const usual = 8192 // what an answer takes at most when nobody bounds it
		w.Output = min(usual, w.Size/4)
	}
	return w
}

// ResolvePlan makes the plan of work between runs, by the configuration in
// force.
func (a *Activities) ResolvePlan(parent context.Context, in step.ResolvePlanInput) (step.ResolvePlanResult, error) {
	ctx, done, err := alive(parent)
	if err != nil {
		return step.ResolvePlanResult{}, err
	}
	defer done()
	doing := "plan the work on thread " + in.Thread
	plan, err := a.newPlan(a.o.Config(), in.Options)
	if err != nil {
		return step.ResolvePlanResult{}, border(ctx, doing, err)
	}
	hash, data, err := plan.Hash()
	if err != nil {
		return step.ResolvePlanResult{}, fmt.Errorf("%s: %w", doing, err)
	}
	if err := a.o.Store.PutPlan(ctx, in.Thread, hash, data); err != nil {
		return step.ResolvePlanResult{}, border(ctx, doing, err)
	}
	return step.ResolvePlanResult{PlanHash: hash, Plan: plan.Summary}, nil
}
