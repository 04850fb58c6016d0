package config

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

const shownText = `models:
  - name: a
    use: openai
    model: $MODEL
    api_key: sk-${TAIL}
    base_url: https://me:pass-word@llm.example.com/v1
    extra: {my_token: hush, top_k: 3}
    provider: {extra_headers: {X-Auth: quiet}}
tools:
  - {name: ls, use: "sandbox:ls", api_key: hidden-one}
thread:
  max_turns: 7
`

func TestShowHasDefaultsLinesAndNoSecret(t *testing.T) {
	t.Parallel()
	c, _ := load(t, shownText, "MODEL", "m-1", "TAIL", "secret-tail")
	text, err := c.YAML()
	require.NoError(t, err)
	for _, want := range []string{
		"name: a # line 2\n", "model: m-1 # line 4, from $MODEL\n", "api_key: '[redacted]' # line 5, from $TAIL\n",
		"top_k: 3", "my_token: '[redacted]'", "X-Auth: '[redacted]'", "llm.example.com/v1", "max_turns: 7 # line 12\n",
		"idle_timeout: 24h0m0s\n", "warn_threshold: 0.8\n", "retry_base_delay_ms: 1s\n",
	} {
		require.Contains(t, string(text), want)
	}
	for _, secret := range []string{"sk-", "secret-tail", "pass-word", "hush", "quiet", "hidden-one"} {
		require.NotContains(t, string(text), secret)
	}

	values, err := c.Values()
	require.NoError(t, err)
	require.Equal(t, 7, values["thread"].(map[string]any)["max_turns"])
	require.Equal(t, "[redacted]", values["models"].([]any)[0].(map[string]any)["api_key"])
}

// What is shown is a config again, but for the secrets.
func TestWhatIsShownLoads(t *testing.T) {
	t.Parallel()
	c, _ := load(t, demoModels+"thread: {max_turns: 7}\nsummarization: {enabled: true, trigger: {type: fraction, value: 0.8}}\n")
	text, err := c.YAML()
	require.NoError(t, err)
	again, warnings := load(t, string(text))
	require.Empty(t, warnings)
	again.origins, c.origins, again.lookup, c.lookup = origins{}, origins{}, nil, nil
	require.Equal(t, c, again)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	require.Empty(t, Mistakes(nil))
	_, _, err := parse("c.yaml", []byte("title: 3\nthread: 4\n"), env())
	got := Mistakes(err)
	require.Len(t, got, 2)
	require.Equal(t, 2, got[1].Line)
	other := Mistakes(errors.New("the disk is away"))
	require.Equal(t, "the disk is away", other[0].Error())
}
