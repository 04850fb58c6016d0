package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	const value = "sk-12345"
	s := Secret(value)
	require.Equal(t, value, s.Reveal())

	asJSON, err := json.Marshal(map[string]Secret{"key": s})
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(map[string]any{"key": s})
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s, "model", Model{APIKey: s})
	shown := []string{string(asJSON), string(asYAML), log.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T%v", "%10s", "%-5.2s", "%c"} {
		shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, struct{ S Secret }{s}), fmt.Sprintf(verb, &Model{APIKey: s}))
	}
	for _, text := range shown {
		require.NotContains(t, text, value)
		require.NotContains(t, text, fmt.Sprintf("%x", value))
	}
	require.Equal(t, "[redacted]", s.String())
	require.Equal(t, `"[redacted]"`, fmt.Sprintf("%q", s))
	require.Empty(t, Secret("").String(), "not set can be told apart")
}

func TestConfigNeverShowsItsSecrets(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "models: [{name: a, use: openai, model: m, api_key: $K, provider: {extra_headers: {X-Key: $K}}}]\n"+
		"tools: [{name: ls, use: 'sandbox:ls', api_key: $K}]\n", "K", "sk-12345")
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(c)
	require.NoError(t, err)
	for _, text := range []string{string(asJSON), string(asYAML), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c.Models)} {
		require.NotContains(t, text, "sk-12345")
	}
}
