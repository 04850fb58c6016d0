package agent

// The settings of the middlewares that a plan carries: what the configuration
// said when the run started. A nil pointer leaves the middleware out.

// ToolOutputRule bounds what a tool's result may have in the transcript (spec
// 4.2). Sizes are in characters.
type ToolOutputRule struct {
	ExternalizeMin int            `json:"externalize_min"` // longer results go to a file
	PreviewHead    int            `json:"preview_head"`
	PreviewTail    int            `json:"preview_tail"`
	FallbackMax    int            `json:"fallback_max"` // the longest result when no file can be written
	FallbackHead   int            `json:"fallback_head"`
	FallbackTail   int            `json:"fallback_tail"`
	Subdir         string         `json:"subdir"` // below outputs
	Exempt         []string       `json:"exempt,omitempty"`
	Overrides      map[string]int `json:"overrides,omitempty"` // by tool, in place of ExternalizeMin; 0 never
}

// InputRule bounds and guards what a user says (spec 4.1).
type InputRule struct {
	// MaxChars cuts a longer message in the model's view; 0 is no limit.
	MaxChars int `json:"max_chars,omitempty"`
}

// GuardrailRule allows and denies tools by name (spec 18).
type GuardrailRule struct {
	Provider   string   `json:"provider"`
	FailClosed bool     `json:"fail_closed"`
	Allowed    []string `json:"allowed,omitempty"`
	AllowAll   bool     `json:"allow_all,omitempty"` // no list of allowed tools was given
	Denied     []string `json:"denied,omitempty"`
}

// Measure is an amount of transcript: "messages", "tokens", or "fraction" of the
// model's window.
type Measure struct {
	Type  string  `json:"type"`
	Value float64 `json:"value"`
}

// SummarizationRule says when a transcript is compacted, and what stays (spec
// 10).
type SummarizationRule struct {
	// Disabled: nothing is compacted but what does not fit into the model's window
	// any more.
	Disabled bool      `json:"disabled,omitempty"`
	Triggers []Measure `json:"triggers,omitempty"` // any of them
	Keep     Measure   `json:"keep"`
	// SkillCount, SkillTokens and SkillTokensEach bound the skill guides that are
	// kept word for word.
	SkillCount      int      `json:"skill_count,omitempty"`
	SkillTokens     int      `json:"skill_tokens,omitempty"`
	SkillTokensEach int      `json:"skill_tokens_each,omitempty"`
	ReadTools       []string `json:"read_tools,omitempty"` // tools that read a guide
}

// TitleRule says how a thread gets its title (spec 4.21).
type TitleRule struct {
	MaxWords int    `json:"max_words"`
	MaxChars int    `json:"max_chars"`
	Model    string `json:"model,omitempty"` // empty: made of the first message, without a model
}

// DeferredRule names the tools whose schemas are hidden until they are promoted.
type DeferredRule struct {
	CatalogHash string   `json:"catalog_hash"`
	Names       []string `json:"names"`
}

// SkillRule is an enabled skill as tool policies see it (spec 4.16).
type SkillRule struct {
	Name string `json:"name"`
	Path string `json:"path"` // of its SKILL.md, virtual
	// Declared: the skill says which tools it allows, in Allowed.
	Declared bool     `json:"declared,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`
}

// SubagentRule bounds the sub-agents of a run (spec 4.27).
type SubagentRule struct {
	MaxConcurrent int `json:"max_concurrent"`
	MaxTotal      int `json:"max_total"`
}

// BudgetRule bounds the tokens of a run (spec 4.29); 0 is no limit.
type BudgetRule struct {
	MaxTokens int     `json:"max_tokens"`
	MaxInput  int     `json:"max_input,omitempty"`
	MaxOutput int     `json:"max_output,omitempty"`
	Warn      float64 `json:"warn"`
	Hard      float64 `json:"hard"`
}

// SafetyRule lists the finish reasons, lower case, by which a provider says that
// it stopped for safety (spec 4.34), beside those that all use.
type SafetyRule struct {
	Reasons []string `json:"reasons,omitempty"`
}
