package activities

import (
	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// answerRules are those of the middlewares around a model's answers. What is off
// leaves its middleware out.
func answerRules(s *agent.Summary, cfg *config.Config, m config.Model, o thread.RunOptions) {
	s.PlanMode, s.Vision = o.PlanMode, m.SupportsVision
	s.TokenUsage = cfg.TokenUsage.Enabled
	if t := cfg.Title; t.Enabled {
		s.Title = &agent.TitleRule{MaxWords: t.MaxWords, MaxChars: t.MaxChars, Model: t.ModelName}
	}
	if b := cfg.TokenBudget; b.Enabled {
		s.Budget = &agent.BudgetRule{
			MaxTokens: b.MaxTokens, MaxInput: b.MaxInputTokens, MaxOutput: b.MaxOutputTokens,
			Warn: b.WarnThreshold, Hard: b.HardStopThreshold,
		}
	}
	if cfg.SafetyFinishReason.Enabled {
		s.Safety = &agent.SafetyRule{Reasons: cfg.SafetyFinishReason.Reasons()}
	}
}
