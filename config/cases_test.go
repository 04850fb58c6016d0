package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Configs that broke the first start of real systems: they must load with the
// defaults and a warning that names the key, or fail with the line.
func TestN07FirstStart(t *testing.T) {
	t.Parallel()

	t.Run("section with no keys", func(t *testing.T) {
		t.Parallel()
		c, warnings := load(t, "log_level: info\nmemory:\nthread:\n  # max_turns: 5\nmodels:\n")
		require.Equal(t, Defaults().Thread, c.Thread)
		require.Contains(t, warnings, "c.yaml:2: sections without keys, their defaults are used: memory (line 2), thread (line 3)")
		require.Contains(t, warnings, "c.yaml:5: models: none is configured")
	})
	t.Run("unknown section", func(t *testing.T) {
		t.Parallel()
		c, warnings := load(t, "modles:\n  - name: x\nsomething: 1\n")
		require.Equal(t, UseDemo, c.Models[0].Use)
		require.Contains(t, warnings, "c.yaml:1: unknown sections are ignored: modles (line 1; did you mean models?), something (line 3)")
	})
	t.Run("unknown key", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "c.yaml:3: thread: unknown key max_trns; did you mean max_turns?",
			fails(t, "thread:\n  idle_timeout: 1h\n  max_trns: 4\n"))
		require.Contains(t, fails(t, "clarification:\n  banana: 4\n"), "c.yaml:2: clarification: unknown key banana; known keys: timeout, on_timeout")
	})
	t.Run("variable that is not set", func(t *testing.T) {
		t.Parallel()
		got := fails(t, "models:\n  - name: a\n    use: openai\n    model: m\n    api_key: $NOT_THERE\n")
		require.Contains(t, got, "c.yaml:5: models[0].api_key: the environment variable NOT_THERE is not set")
		require.NotContains(t, got, "\n", "one mistake, one error")
	})
	t.Run("tabs", func(t *testing.T) {
		t.Parallel()
		require.Contains(t, fails(t, "log_level: info\nthread:\n\tmax_turns: 5\n"), "c.yaml:3: not valid YAML")
		require.Contains(t, fails(t, "thread:\n\tmax_turns: 5\n"), "indent with spaces, a tab is not allowed")
	})
	t.Run("old and new key", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "c.yaml:1: llm_call: max_retries and retry_max_attempts (line 3) mean the same; keep one",
			fails(t, "max_retries: 2\nllm_call:\n  retry_max_attempts: 3\n"))
	})
}

func TestA26ModelSettings(t *testing.T) {
	t.Parallel()
	const entry = "models:\n  - name: a\n    use: openai\n    model: m\n    api_key: k\n"

	for _, key := range []string{"base_url", "api_base", "openai_api_base"} {
		c, warnings := load(t, entry+"    "+key+": http://localhost:8000/v1\n")
		require.Empty(t, warnings)
		require.Equal(t, "http://localhost:8000/v1", c.Models[0].BaseURL)
		require.Nil(t, c.Models[0].Extra)
	}
	require.Equal(t, "c.yaml:7: models[0]: api_base and base_url (line 6) mean the same; keep one",
		fails(t, entry+"    base_url: http://a\n    api_base: http://b\n"))
	require.Equal(t, "c.yaml:7: models[0]: key temperature is given twice; the first is in line 6",
		fails(t, entry+"    temperature: 0\n    temperature: 1\n"))

	c, _ := load(t, entry+"    temperature: 0\n")
	require.NotNil(t, c.Models[0].Temperature, "zero is really sent")
	require.Zero(t, *c.Models[0].Temperature)
	c, _ = load(t, entry)
	require.Nil(t, c.Models[0].Temperature)

	for _, number := range []string{".nan", ".NaN", ".inf", "-.inf", "+.Inf", "nan", "inf", "1e999"} {
		for _, key := range []string{"timeout", "temperature", "stream_chunk_timeout", "max_tokens"} {
			require.Contains(t, fails(t, entry+"    "+key+": "+number+"\n"), "c.yaml:6: models[0]."+key+": want", number)
		}
	}
	for _, number := range []string{".nan", "-.inf"} {
		require.Contains(t, fails(t, entry+"    extra_body: {seed: {deep: ["+number+"]}}\n"),
			"c.yaml:6: models[0].extra_body.seed.deep[0]: want a finite number", number)
		require.Contains(t, fails(t, "logging:\n  x: "+number+"\n"), "c.yaml:2: logging.x: want a finite number", "also where it is not used yet")
	}
}

// Behaviour of DeerFlow's own loader that existing files rely on.
func TestConfigPitfalls(t *testing.T) {
	t.Parallel()

	require.Contains(t, fails(t, "channels:\n  slack:\n    token: $MISSING\n"), "c.yaml:3: channels.slack.token: the environment variable MISSING")

	_, warnings := load(t, "config_version: 33\nmodels: [{name: d, use: demo}]\n")
	require.Regexp(t, `^c\.yaml:1: config_version is 33, the current one is 34`, warnings)
	_, warnings = load(t, "config_version: 35\nmodels: [{name: d, use: demo}]\n")
	require.Regexp(t, `newer than 34`, warnings)
	_, warnings = load(t, "config_version: 34\nmodels: [{name: d, use: demo}]\n")
	require.Empty(t, warnings)

	_, warnings = load(t, "memory:\n  storage_path: memory.json\nmodels: [{name: d, use: demo}]\n")
	require.Equal(t, "c.yaml:2: settings that this version does not use are ignored: memory.storage_path (line 2)", warnings)
}
