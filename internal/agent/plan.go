package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"deerflow/internal/thread"
)

// Plan is all that is fixed for a run when it starts. It is stored once under
// its hash; workflows carry the hash and a [Summary].
type Plan struct {
	Summary Summary         `json:"summary"`
	Prompt  string          `json:"prompt"` // the static system prompt
	Tools   []ToolSpec      `json:"tools"`
	Model   json.RawMessage `json:"model"` // the model's configuration without secrets
	// Thinking and Effort are what the run asked of the model.
	Thinking bool   `json:"thinking,omitempty"`
	Effort   string `json:"effort,omitempty"`
	// TitlePrompt takes the place of our own instructions to the model that makes
	// titles.
	TitlePrompt string `json:"title_prompt,omitempty"`
	// Summarizer says who writes summaries, and how.
	Summarizer Summarizer `json:"summarizer,omitzero"`
}

// Summarizer is how a transcript is summarised.
type Summarizer struct {
	Model      string `json:"model,omitempty"`       // asked first; empty: the run's own
	TrimTokens int    `json:"trim_tokens,omitempty"` // of transcript that it is given
	Prompt     string `json:"prompt,omitempty"`      // in place of our own; {messages} is where the transcript goes
}

// Summary is the part of a plan that the workflow decides by. It rides in
// workflow history once a run, so it stays small.
type Summary struct {
	Agent         string            `json:"agent"`
	Model         string            `json:"model"` // the configured name
	MaxTurns      int               `json:"max_turns"`
	Tools         []Brief           `json:"tools"`
	ModelCall     ModelCallPolicy   `json:"model_call"`
	Loop          LoopSettings      `json:"loop"`
	Clarification ClarificationRule `json:"clarification"`

	Input           *InputRule         `json:"input,omitempty"`
	ToolOutput      *ToolOutputRule    `json:"tool_output,omitempty"`
	Guardrail       *GuardrailRule     `json:"guardrail,omitempty"`
	ReadBeforeWrite bool               `json:"read_before_write,omitempty"`
	Summarization   *SummarizationRule `json:"summarization,omitempty"`
	PlanMode        bool               `json:"plan_mode,omitempty"`
	TokenUsage      bool               `json:"token_usage,omitempty"`
	Title           *TitleRule         `json:"title,omitempty"`
	Memory          bool               `json:"memory,omitempty"`
	Vision          bool               `json:"vision,omitempty"`
	Deferred        *DeferredRule      `json:"deferred,omitempty"`
	Skills          []SkillRule        `json:"skills,omitempty"`
	Subagents       *SubagentRule      `json:"subagents,omitempty"`
	Budget          *BudgetRule        `json:"budget,omitempty"`
	Safety          *SafetyRule        `json:"safety,omitempty"`
	Window          WindowRule         `json:"window"`
}

// Tool finds a tool of the plan by name.
func (s *Summary) Tool(name string) (Brief, bool) {
	for _, b := range s.Tools {
		if b.Name == name {
			return b, true
		}
	}
	return Brief{}, false
}

// ModelCallPolicy bounds a model call and its retries, which are the activity's
// alone: no client below retries.
type ModelCallPolicy struct {
	Timeout     time.Duration `json:"timeout"`      // one attempt, start to end
	MaxAttempts int32         `json:"max_attempts"` // total
	BaseDelay   time.Duration `json:"base_delay"`
	MaxDelay    time.Duration `json:"max_delay"`
	// BurstDelay is the shortest wait when the rate rose too quickly.
	BurstDelay time.Duration `json:"burst_delay,omitempty"`
}

// LoopSettings are the thresholds of loop detection (spec 4.28).
type LoopSettings struct {
	Enabled       bool                 `json:"enabled"`
	Warn          int                  `json:"warn"`
	Hard          int                  `json:"hard"`
	Window        int                  `json:"window"`
	FreqWarn      int                  `json:"freq_warn"`
	FreqHard      int                  `json:"freq_hard"`
	FreqOverrides map[string]FreqLimit `json:"freq_overrides,omitempty"`
}

// FreqLimit is how often one tool may be called within the window.
type FreqLimit struct {
	Warn int `json:"warn"`
	Hard int `json:"hard"`
}

// ClarificationRule says how long a question waits. A zero Timeout waits for
// ever; OnTimeout is "proceed" or "stop".
type ClarificationRule struct {
	Disabled  bool          `json:"disabled,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"`
}

// Hash is the name under which a plan is stored.
func (p *Plan) Hash() (string, []byte, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", nil, fmt.Errorf("encode plan of agent %q: %w", p.Summary.Agent, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12]), data, nil
}

// Spec finds a tool of the plan by name.
func (p *Plan) Spec(name string) (ToolSpec, bool) {
	for _, t := range p.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolSpec{}, false
}

// DigestOf is the digest of a message with what depends on the plan's tools: the
// loop keys of its calls, the verdicts on commands, the files to be changed.
func (p *Plan) DigestOf(m *thread.Message, pos int64) thread.Digest {
	d := m.Digest(pos)
	for i := range d.Calls {
		call, invalid, _ := m.CallAt(i)
		if invalid != nil {
			d.Calls[i].Key = hashKey(invalid.Name + ":" + invalid.Args)
			continue
		}
		spec, _ := p.Spec(call.Name)
		d.Calls[i].Key = CallKey(spec.Key, call)
		d.Calls[i].Verdict = verdict(spec, call)
		d.Calls[i].Target = spec.Target(call)
	}
	return d
}

// DecodePlan reads a stored plan.
func DecodePlan(data []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode a stored plan: %w", err)
	}
	return &p, nil
}
