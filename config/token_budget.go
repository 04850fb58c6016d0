package config

// TokenBudget bounds the tokens that a run may use, sub-agents and models on the
// side included.
type TokenBudget struct {
	Enabled bool `yaml:"enabled"` // false
	// MaxTokens is the budget of a run (200000).
	MaxTokens int `yaml:"max_tokens" conf:"min=1000"`
	// MaxTokensPerRun is the same in one key, which also switches the budget on;
	// it becomes the two above.
	MaxTokensPerRun int `yaml:"max_tokens_per_run,omitempty" conf:"min=1000"`
	// MaxInputTokens and MaxOutputTokens bound the two kinds on their own; without
	// one there is no such limit.
	MaxInputTokens  int `yaml:"max_input_tokens,omitempty" conf:"min=1"`
	MaxOutputTokens int `yaml:"max_output_tokens,omitempty" conf:"min=1"`
	// WarnThreshold is the share of the budget at which the model is told to come
	// to an end (0.8).
	WarnThreshold float64 `yaml:"warn_threshold" conf:"min=0,max=1"`
	// HardStopThreshold is the share at which the run ends (1).
	HardStopThreshold float64 `yaml:"hard_stop_threshold" conf:"min=0,max=1"`
}

func (t *TokenBudget) setDefaults() {
	*t = TokenBudget{MaxTokens: 200_000, WarnThreshold: 0.8, HardStopThreshold: 1}
}

func (d *decoder) finishTokenBudget(t *TokenBudget) {
	const section = "token_budget"
	if t.MaxTokensPerRun > 0 {
		if line := d.lines[section+".max_tokens"]; line > 0 {
			d.errorf(line, "%s: max_tokens and max_tokens_per_run mean the same; keep one", section)
		}
		if d.lines[section+".enabled"] == 0 {
			t.Enabled = true
		}
		t.MaxTokens, t.MaxTokensPerRun = t.MaxTokensPerRun, 0
	}
	if t.HardStopThreshold < t.WarnThreshold {
		d.errorf(d.line(section, "hard_stop_threshold", "warn_threshold"),
			"%s.hard_stop_threshold (%g) is below warn_threshold (%g)", section, t.HardStopThreshold, t.WarnThreshold)
	}
	if t.HardStopThreshold == 0 {
		d.errorf(d.line(section, "hard_stop_threshold"), "%s.hard_stop_threshold: want more than 0", section)
	}
}
