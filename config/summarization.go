package config

// Summarization compacts long conversations.
type Summarization struct {
	Enabled bool `yaml:"enabled"` // false
	// ModelName is the model that writes summaries; empty is the run's own.
	ModelName string `yaml:"model_name,omitempty"`
	// Trigger says when; any of them. Without one only what does not fit into
	// the model's window is compacted.
	Trigger []Measure `yaml:"trigger,omitempty"`
	// Keep is what stays word for word (20 messages).
	Keep Measure `yaml:"keep"`
	// TrimTokensToSummarize bounds what the model is given to summarise (4000).
	TrimTokensToSummarize int `yaml:"trim_tokens_to_summarize" conf:"min=1"`
	// SummaryPrompt takes the place of our own; {messages} is where the
	// transcript goes.
	SummaryPrompt string `yaml:"summary_prompt,omitempty"`
	// SkillFileReadToolNames are tools that read the guide of a skill.
	SkillFileReadToolNames []string `yaml:"skill_file_read_tool_names"`
	// PreserveRecentSkillCount, PreserveRecentSkillTokens and
	// PreserveRecentSkillTokensPerSkill bound the guides that stay word for word
	// (5, 25000, 5000).
	PreserveRecentSkillCount          int `yaml:"preserve_recent_skill_count" conf:"min=0"`
	PreserveRecentSkillTokens         int `yaml:"preserve_recent_skill_tokens" conf:"min=0"`
	PreserveRecentSkillTokensPerSkill int `yaml:"preserve_recent_skill_tokens_per_skill" conf:"min=0"`
}

// Measure is an amount of conversation: messages, tokens, or a fraction of the
// model's window.
type Measure struct {
	Type  string  `yaml:"type" conf:"required,enum=messages|tokens|fraction"`
	Value float64 `yaml:"value" conf:"required,min=0"`
}

func (s *Summarization) setDefaults() {
	*s = Summarization{
		Keep: Measure{Type: "messages", Value: 20}, TrimTokensToSummarize: 4000,
		SkillFileReadToolNames:   []string{"read_file", "read", "view", "cat"},
		PreserveRecentSkillCount: 5, PreserveRecentSkillTokens: 25_000, PreserveRecentSkillTokensPerSkill: 5_000,
	}
}
