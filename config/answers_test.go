package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenBudgetSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, TokenBudget{MaxTokens: 200_000, WarnThreshold: 0.8, HardStopThreshold: 1}, Defaults().TokenBudget)

	c, _ := load(t, demoModels+"token_budget: {enabled: true, max_tokens: 5000, max_input_tokens: 3000, max_output_tokens: 10, warn_threshold: 0.5, hard_stop_threshold: 0.9}\n")
	require.Equal(t, TokenBudget{Enabled: true, MaxTokens: 5000, MaxInputTokens: 3000, MaxOutputTokens: 10, WarnThreshold: 0.5, HardStopThreshold: 0.9}, c.TokenBudget)

	for name, text := range map[string]string{
		"at the top":     "max_tokens_per_run: 9000\n",
		"in the section": "token_budget: {max_tokens_per_run: 9000}\n",
	} {
		c, warnings := load(t, demoModels+text)
		require.Empty(t, warnings, name)
		require.True(t, c.TokenBudget.Enabled, name)
		require.Equal(t, 9000, c.TokenBudget.MaxTokens, name)
		require.Zero(t, c.TokenBudget.MaxTokensPerRun, name)
	}
	c, _ = load(t, demoModels+"max_tokens_per_run: 9000\ntoken_budget: {enabled: false}\n")
	require.False(t, c.TokenBudget.Enabled, "who says off means off")

	require.Contains(t, fails(t, "token_budget: {max_tokens: 999}\n"), "want at least 1000")
	require.Contains(t, fails(t, "token_budget:\n  warn_threshold: 0.9\n  hard_stop_threshold: 0.5\n"), "3: token_budget.hard_stop_threshold (0.5) is below warn_threshold (0.9)")
	require.Contains(t, fails(t, "token_budget: {warn_threshold: 0, hard_stop_threshold: 0}\n"), "want more than 0")
	require.Contains(t, fails(t, "max_tokens_per_run: 9000\ntoken_budget: {max_tokens: 5000}\n"), "mean the same")
}

func TestTitleSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, Title{Enabled: true, MaxWords: 6, MaxChars: 60}, Defaults().Title)
	c, warnings := load(t, demoModels+"title: {enabled: false, max_words: 3, max_chars: 20, model_name: d, prompt_template: 'Name {user_msg}'}\n")
	require.Empty(t, warnings)
	require.Equal(t, Title{MaxWords: 3, MaxChars: 20, ModelName: "d", PromptTemplate: "Name {user_msg}"}, c.Title)
	_, warnings = load(t, demoModels+"title:\n  model_name: gone\n")
	require.Contains(t, warnings, `3: title.model_name: there is no model "gone"`)
	require.Contains(t, fails(t, "title: {max_chars: 9}\n"), "want at least 10")
	require.Contains(t, fails(t, "title: {max_words: 21}\n"), "want at most 20")
}

func TestTokenUsageSection(t *testing.T) {
	t.Parallel()
	require.True(t, Defaults().TokenUsage.Enabled)
	c, _ := load(t, demoModels+"token_usage: {enabled: false}\n")
	require.False(t, c.TokenUsage.Enabled)
}

func TestSafetyFinishReasonSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, SafetyFinishReason{Enabled: true}, Defaults().SafetyFinishReason)
	c, warnings := load(t, demoModels+`safety_finish_reason:
  detectors:
    - use: deerflow.agents.middlewares.safety_termination_detectors:OpenAICompatibleContentFilterDetector
      config: {finish_reasons: [Content_Filter, " moderated "]}
    - use: anthropic
      config: {stop_reasons: [refusal]}
    - use: gemini
`)
	require.Empty(t, warnings)
	require.Equal(t, []string{"content_filter", "moderated", "refusal"}, c.SafetyFinishReason.Reasons())
	require.Equal(t, "openai_compatible", c.SafetyFinishReason.Detectors[0].Use)

	c, _ = load(t, demoModels+"safety_finish_reason: {detectors: null}\n")
	require.Empty(t, c.SafetyFinishReason.Reasons())
	require.Contains(t, fails(t, "safety_finish_reason:\n  detectors: []\n"), "2: safety_finish_reason.detectors: the list is empty")
	require.Contains(t, fails(t, "safety_finish_reason: {detectors: [{use: mine:Thing}]}\n"), `unknown detector "mine:Thing"`)
	require.Contains(t, fails(t, "safety_finish_reason: {detectors: [{config: {}}]}\n"), "use is missing")
}
