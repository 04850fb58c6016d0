package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// model loads one entry of models[] given as the inside of a flow mapping.
func model(t *testing.T, entry string, vars ...string) (Model, string) {
	t.Helper()
	c, warnings := load(t, "models:\n- {"+entry+"}\n", vars...)
	return c.Models[0], warnings
}

func TestModelOfDeerFlow(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, `
models:
  - name: doubao
    display_name: Doubao
    use: deerflow.models.patched_deepseek:PatchedChatDeepSeek
    model: doubao-seed
    api_base: https://ark.example.com/api/v3
    api_key: $ARK_KEY
    timeout: 600.0
    context_window: 262144
    supports_thinking: true
    supports_vision: true
    supports_reasoning_effort: true
    max_retries: 2
    pricing: {currency: USD, input_per_million: 1}
    when_thinking_enabled:
      extra_body:
        thinking: {type: enabled}
    when_thinking_disabled:
      extra_body:
        thinking: {type: disabled}
    top_k: 40
`, "ARK_KEY", "k")
	m := c.Models[0]
	require.Equal(t, UseOpenAI, m.Use)
	require.Equal(t, "https://ark.example.com/api/v3", m.BaseURL)
	require.Equal(t, "k", m.APIKey.Reveal())
	require.Equal(t, 10*time.Minute, m.Timeout)
	require.Equal(t, 240*time.Second, m.StreamChunkTimeout)
	require.Equal(t, map[string]any{"top_k": 40}, m.Extra)
	require.Equal(t, map[string]any{"thinking": map[string]any{"type": "enabled"}}, m.ThinkingBody(true))
	require.Equal(t, map[string]any{"thinking": map[string]any{"type": "disabled"}}, m.ThinkingBody(false))
	require.Equal(t, "c.yaml:14: settings that this version does not use are ignored: models[0].max_retries (line 14), models[0].pricing (line 15)", warnings)
}

func TestModelUse(t *testing.T) {
	t.Parallel()
	for class := range openAIClasses() {
		m, _ := model(t, "name: a, model: m, base_url: 'http://x/v1', use: '"+class+"'")
		require.Equal(t, UseOpenAI, m.Use, class)
	}
	m, _ := model(t, "name: a, model: m, api_key: k, use: 'src.models.patched_deepseek:PatchedChatDeepSeek'")
	require.Equal(t, UseOpenAI, m.Use, "DeerFlow's first layout")
	require.Equal(t, "https://api.deepseek.com/v1", m.BaseURL, "the class's own endpoint")

	m, _ = model(t, "name: a, model: m, base_url: 'http://x', use: 'deerflow.models.mindie_provider:MindIEChatModel'")
	require.False(t, m.Provider.Streaming)
	m, _ = model(t, "name: a, model: m, base_url: 'http://x', provider: {streaming: true}, use: 'deerflow.models.mindie_provider:MindIEChatModel'")
	require.True(t, m.Provider.Streaming)

	m, _ = model(t, "name: a, use: demo")
	require.Equal(t, "demo", m.Model)
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	const base = "models:\n- name: a\n  use: openai\n  model: m\n  api_key: k\n"
	tests := map[string]struct{ text, want string }{
		"unknown use":        {"models:\n- name: a\n  use: opena", `c.yaml:3: models[0].use: unknown provider "opena"; this version has: openai (any OpenAI-compatible endpoint), demo; did you mean openai?`},
		"another dialect":    {"models:\n- name: a\n  model: m\n  use: langchain_ollama:ChatOllama", "c.yaml:4: models[0].use: unknown provider \"langchain_ollama:ChatOllama\"; this version has: openai (any OpenAI-compatible endpoint), demo; reach this provider with use: openai and base_url: http://localhost:11434/v1"},
		"no endpoint":        {"models:\n- {name: a, model: m, use: 'deerflow.models.vllm_provider:VllmChatModel'}", "base_url is missing"},
		"no use":             {"models:\n- name: a\n  model: m", "c.yaml:2: models[0]: use is missing"},
		"no name":            {"models:\n- use: demo", "c.yaml:2: models[0]: name is missing"},
		"empty name":         {"models:\n- use: demo\n  name: ''", "c.yaml:3: models[0]: name is missing"},
		"no model":           {"models:\n- name: a\n  use: openai", "c.yaml:2: models[0]: model is missing"},
		"same name":          {"models:\n- {name: a, use: demo}\n- {name: b, use: demo}\n- {name: a, use: demo}", `c.yaml:4: models[2].name: "a" is already the name of models[0] (line 2)`},
		"base_url":           {base + "  base_url: localhost:8000", "c.yaml:6: models[0].base_url: want an address"},
		"base_url by alias":  {base + "  openai_api_base: localhost:8000", "c.yaml:6: models[0].base_url: want an address"},
		"top_p":              {base + "  top_p: 1.1", "models[0].top_p: want at most 1"},
		"temperature":        {base + "  temperature: -0.1", "models[0].temperature: want at least 0"},
		"max_tokens":         {base + "  max_tokens: 0", "models[0].max_tokens: want at least 1"},
		"provider key":       {base + "  provider: {streeming: true}", "models[0].provider: unknown key streeming; did you mean streaming?"},
		"provider enum":      {base + "  provider: {reasoning_content: sned}", "want send, omit or placeholder, got \"sned\"; did you mean send?"},
		"header name":        {base + "  provider: {extra_headers: {'a b': x}}", `"a b" is not a header name`},
		"header value":       {base + "  provider: {extra_headers: {A: \"x\\ny\"}}", "extra_headers.A: a header value must be one line"},
		"extra_body":         {base + "  extra_body: 3", "c.yaml:6: models[0].extra_body: want keys and values"},
		"two limits":         {base + "  max_tokens: 5\n  max_completion_tokens: 6", "c.yaml:7: models[0]: max_completion_tokens and max_tokens (line 6) mean the same; keep one"},
		"limit of no number": {base + "  max_completion_tokens: many", "c.yaml:6: models[0].max_completion_tokens: the value does not fit"},
		"model_name too":     {base + "  model_name: x", "c.yaml:6: models[0]: model_name and model (line 4) mean the same; keep one"},
		"header of a number": {base + "  default_headers: {A: 1}", "models[0].default_headers: the value does not fit"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, fails(t, tt.text), tt.want)
		})
	}
}

func TestModelExtra(t *testing.T) {
	t.Parallel()
	const base = "name: a, use: openai, model: m, api_key: k, "
	m, warnings := model(t, base+"seed: 7, top_k: 3, extra_body: {provider: {order: [x]}}, model_kwargs: {n: 2}, extra: {min_p: 0.1}")
	require.Empty(t, warnings)
	require.Equal(t, map[string]any{"seed": 7, "top_k": 3, "provider": map[string]any{"order": []any{"x"}}, "n": 2, "min_p": 0.1}, m.Extra)

	m, warnings = model(t, base+"temprature: 0")
	require.Equal(t, "c.yaml:2: models[0].temprature is sent to the provider as it is; did you mean temperature?", warnings)
	require.Equal(t, map[string]any{"temprature": 0}, m.Extra)

	m, warnings = model(t, base+"max_completion_tokens: 50, streaming: false, stream_usage: false, parallel_tool_calls: false, default_headers: {X-A: b}")
	require.Empty(t, warnings)
	require.Nil(t, m.Extra)
	require.Equal(t, 50, m.MaxTokens)
	require.Equal(t, MaxCompletionTokensField, m.Provider.MaxTokensField)
	require.False(t, m.Provider.Streaming)
	require.False(t, m.Provider.StreamOptions)
	require.False(t, *m.Provider.ParallelToolCalls)
	require.Equal(t, "b", m.Provider.ExtraHeaders["X-A"].Reveal())
}

func TestProvider(t *testing.T) {
	t.Parallel()
	m, _ := model(t, "name: a, use: demo")
	require.Equal(t, Provider{ReasoningContent: "send", ToolOnlyContent: "null", StreamOptions: true, Streaming: true, MaxTokensField: "max_tokens"}, m.Provider)

	m, _ = model(t, "name: a, use: demo, provider: {tool_only_content: null, reasoning_content: omit, stream_options: false, parallel_tool_calls: true}")
	require.Equal(t, ToolOnlyNull, m.Provider.ToolOnlyContent, "YAML's null is the value null here")
	require.Equal(t, ReasoningOmit, m.Provider.ReasoningContent)
	require.False(t, m.Provider.StreamOptions)
	require.True(t, m.Provider.Streaming)
	require.True(t, *m.Provider.ParallelToolCalls)
}

func TestModelKey(t *testing.T) {
	t.Parallel()
	const base = "name: a, use: openai, model: m"
	m, warnings := model(t, base, "OPENAI_API_KEY", "sk-1")
	require.Equal(t, "sk-1", m.APIKey.Reveal())
	require.Empty(t, warnings)

	m, warnings = model(t, base+", base_url: 'http://localhost/v1'", "OPENAI_API_KEY", "sk-1")
	require.Empty(t, m.APIKey.Reveal(), "OpenAI's key is for OpenAI")
	require.Empty(t, warnings)

	_, warnings = model(t, base)
	require.Equal(t, "c.yaml:2: models[0].api_key is empty: OpenAI will refuse the calls", warnings)
	_, warnings = model(t, base+", api_key: $K", "K", "", "OPENAI_API_KEY", "sk-1")
	require.Contains(t, warnings, "api_key is empty", "a key that is given is not replaced")
}

func TestThinkingBody(t *testing.T) {
	t.Parallel()
	budget := map[string]any{"budget_tokens": 9}
	tests := map[string]struct {
		model Model
		want  map[string]any
	}{
		"nothing": {Model{}, nil},
		"short":   {Model{Thinking: budget}, map[string]any{"thinking": budget}},
		"both": {
			Model{Thinking: budget, WhenThinkingEnabled: map[string]any{"thinking": map[string]any{"type": "enabled"}, "x": 1}},
			map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 9}, "x": 1},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.model.ThinkingBody(true))
			require.Nil(t, tt.model.ThinkingBody(false))
			require.Equal(t, map[string]any{"budget_tokens": 9}, budget, "the model's own maps stay as they are")
		})
	}
}
