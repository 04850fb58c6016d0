package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The sections of the middlewares with nothing in the file.
func TestChainDefaults(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, demoModels+"token_budget: {}\nsummarization: {}\n")
	require.Empty(t, warnings)
	require.Equal(t, TokenUsage{Enabled: true}, c.TokenUsage)
	require.Equal(t, TokenBudget{MaxTokens: 200_000, WarnThreshold: 0.8, HardStopThreshold: 1}, c.TokenBudget)
	require.Equal(t, SafetyFinishReason{Enabled: true}, c.SafetyFinishReason)
	require.Equal(t, Title{Enabled: true, MaxWords: 6, MaxChars: 60}, c.Title)
	require.Equal(t, Input{}, c.Input)
	require.Equal(t, Memory{Enabled: true, InjectionEnabled: true}, c.Memory)
	require.Equal(t, Skills{ContainerPath: "/mnt/skills"}, c.Skills)
	require.Equal(t, ToolSearch{AutoPromoteTopK: 3}, c.ToolSearch)
	require.Equal(t, Guardrails{FailClosed: true}, c.Guardrails)
	require.Equal(t, ReadBeforeWrite{Enabled: true}, c.ReadBeforeWrite)
	require.Equal(t, CircuitBreaker{FailureThreshold: 5, RecoveryTimeout: time.Minute}, c.CircuitBreaker)
	require.Equal(t, Subagents{
		Timeout: 30 * time.Minute, MaxTotalPerRun: 6,
		TokenBudget: SubagentBudget{Enabled: true, MaxTokens: 2_000_000, WarnThreshold: 0.7, HardStopThreshold: 1},
	}, c.Subagents)
	require.False(t, c.Summarization.Enabled)
	require.Nil(t, c.Summarization.Trigger)
	require.Equal(t, Measure{Type: "messages", Value: 20}, c.Summarization.Keep)
	require.Equal(t, 4000, c.Summarization.TrimTokensToSummarize)
	require.Equal(t, []string{"read_file", "read", "view", "cat"}, c.Summarization.SkillFileReadToolNames)
}

// Keys that guides to DeerFlow show at the top level or in their sections.
func TestSeedAliases(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"max_input_length: 500\nmax_tool_output_tokens: 9000\nmax_tokens_per_run: 50000\nmax_retries: 4\n",
		"input: {max_input_length: 500}\ntool_output: {max_tool_output_tokens: 9000}\n" +
			"token_budget: {max_tokens_per_run: 50000}\nllm_call: {max_retries: 4}\n",
	} {
		c, warnings := load(t, demoModels+text)
		require.Empty(t, warnings)
		require.Equal(t, 500, c.Input.MaxInputLength)
		require.Equal(t, 36_000, c.ToolOutput.ExternalizeMinChars, "a token has four characters")
		require.Equal(t, 36_000, c.ToolOutput.FallbackMaxChars, "which a lower bound would undo")
		require.True(t, c.TokenBudget.Enabled, "whoever names a budget wants one")
		require.Equal(t, 50_000, c.TokenBudget.MaxTokens)
		require.Equal(t, 4, c.LLMCall.RetryMaxAttempts)
	}
	c, _ := load(t, demoModels+"max_tool_output_tokens: 100\ntool_output: {fallback_max_chars: 90}\nmax_tokens_per_run: 50000\ntoken_budget: {enabled: false}\n")
	require.Equal(t, 400, c.ToolOutput.ExternalizeMinChars)
	require.Equal(t, 90, c.ToolOutput.FallbackMaxChars)
	require.False(t, c.TokenBudget.Enabled)

	_, warnings := load(t, demoModels+"lazy_init: true\n")
	require.Equal(t, "c.yaml:2: settings that this version does not use are ignored: sandbox.lazy_init (line 2)", warnings)
	_, warnings = load(t, demoModels+"max_retries:\n")
	require.Contains(t, warnings, "c.yaml:2: sections without keys, their defaults are used: max_retries (line 2)")

	require.Contains(t, fails(t, "max_tool_output_tokens: 5\ntool_output: {externalize_min_chars: 5}\n"), "c.yaml:2: tool_output: externalize_min_chars and max_tool_output_tokens (line 1) mean the same")
	require.Contains(t, fails(t, "max_tokens_per_run: 5000\ntoken_budget: {max_tokens: 5000}\n"), "max_tokens and max_tokens_per_run mean the same")
}

func TestChainSectionsAreChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"unknown key":          {"title: {max_word: 3}", "c.yaml:1: title: unknown key max_word; did you mean max_words?"},
		"unknown memory key":   {"memory:\n  enable: true", "c.yaml:2: memory: unknown key enable; did you mean enabled?"},
		"title too short":      {"title: {max_chars: 9}", "title.max_chars: want at least 10"},
		"title words":          {"title: {max_words: 21}", "title.max_words: want at most 20"},
		"small budget":         {"token_budget: {max_tokens: 999}", "token_budget.max_tokens: want at least 1000"},
		"budget order":         {"token_budget:\n  warn_threshold: 0.9\n  hard_stop_threshold: 0.5", "c.yaml:3: token_budget.hard_stop_threshold (0.5) is below warn_threshold (0.9)"},
		"no detector":          {"safety_finish_reason:\n  detectors: []", "c.yaml:2: safety_finish_reason.detectors: the list is empty"},
		"unknown detector":     {"safety_finish_reason: {detectors: [{use: magic}]}", `unknown detector "magic"`},
		"fraction":             {"summarization:\n  trigger:\n    - {type: fraction, value: 80}", "c.yaml:3: summarization.trigger[0].value: want a fraction above 0, at most 1, got 80"},
		"part of a message":    {"summarization: {keep: {type: messages, value: 1.5}}", "summarization.keep.value: want a whole number of messages"},
		"kind of measure":      {"summarization: {trigger: [{type: token, value: 1}]}", "want messages, tokens or fraction, got \"token\"; did you mean tokens?"},
		"measure without one":  {"summarization: {trigger: [{type: tokens}]}", "summarization.trigger[0]: value is missing"},
		"total of sub-agents":  {"subagents: {max_total_per_run: 51}", "subagents.max_total_per_run: want at most 50"},
		"budget of sub-agents": {"subagents: {token_budget: {warn_threshold: 1, hard_stop_threshold: 0.5}}", "subagents.token_budget.hard_stop_threshold (0.5) is below"},
		"negative input":       {"max_input_length: -1", "input.max_input_length: want at least 0"},
		"breaker":              {"circuit_breaker: {failure_threshold: 0}", "circuit_breaker.failure_threshold: want at least 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fails(t, tt.text+"\n")
			require.Contains(t, got, tt.want)
			require.NotContains(t, got, "\n", "one mistake, one error")
		})
	}
}

func TestChainSectionsThatAreUnusual(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, demoModels+"summarization: {enabled: true, trigger: {type: fraction, value: 0.8}, model_name: dd}\n")
	require.Equal(t, []Measure{{Type: "fraction", Value: 0.8}}, c.Summarization.Trigger, "one stands for a list of one")
	require.Equal(t, `c.yaml:2: summarization.model_name: there is no model "dd", so summaries are written by the model of the run`, warnings)
	_, warnings = load(t, demoModels+"skills: {container_path: /skills}\n")
	require.Contains(t, warnings, "c.yaml:2: skills.container_path: this version shows skills at /mnt/skills")
	_, warnings = load(t, demoModels+"guardrails: {enabled: true}\n")
	require.Contains(t, warnings, "c.yaml:2: guardrails.enabled: there is no provider")
	_, warnings = load(t, demoModels+"memory: {storage_path: null, max_facts: null}\n")
	require.Empty(t, warnings, "null is not given")
}
