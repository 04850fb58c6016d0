package config

import "time"

// Subagents bounds the sub-agents that a run hands tasks to.
type Subagents struct {
	// Timeout bounds one task (1800 s); a plain number means seconds.
	Timeout time.Duration `yaml:"timeout_seconds" conf:"min=1"`
	// MaxTurns is the number of model calls of one task; 0 leaves it to the kind
	// of sub-agent.
	MaxTurns int `yaml:"max_turns,omitempty" conf:"min=1"`
	// MaxTotalPerRun is how many tasks a run may hand out (6).
	MaxTotalPerRun int `yaml:"max_total_per_run" conf:"min=1,max=50"`
	// TokenBudget bounds the tokens of one task.
	TokenBudget SubagentBudget `yaml:"token_budget"`
}

// SubagentBudget bounds the tokens of a sub-agent.
type SubagentBudget struct {
	Enabled bool `yaml:"enabled"` // true
	// MaxTokens is the budget of one task (2000000).
	MaxTokens int `yaml:"max_tokens" conf:"min=1000"`
	// WarnThreshold is the share of it at which the sub-agent is told to come to
	// an end (0.7).
	WarnThreshold float64 `yaml:"warn_threshold" conf:"min=0,max=1"`
	// HardStopThreshold is the share at which it ends (1).
	HardStopThreshold float64 `yaml:"hard_stop_threshold" conf:"min=0,max=1"`
}

func (s *Subagents) setDefaults() {
	*s = Subagents{
		Timeout:        30 * time.Minute,
		MaxTotalPerRun: 6,
		TokenBudget:    SubagentBudget{Enabled: true, MaxTokens: 2_000_000, WarnThreshold: 0.7, HardStopThreshold: 1},
	}
}

// unusedKeys are those of sub-agents by name.
func (*Subagents) unusedKeys() []string { return []string{"agents", "custom_agents", "enabled"} }

func (d *decoder) checkSubagents(s *Subagents) {
	const at = "subagents.token_budget"
	if b := s.TokenBudget; b.HardStopThreshold < b.WarnThreshold {
		d.errorf(d.line(at, "hard_stop_threshold", "warn_threshold"),
			"%s.hard_stop_threshold (%g) is below warn_threshold (%g)", at, b.HardStopThreshold, b.WarnThreshold)
	}
}
