package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(text string, vars ...string) string {
		c, _ := load(t, text, vars...)
		h, err := c.Hash()
		require.NoError(t, err)
		require.Regexp(t, "^[0-9a-f]{64}$", h)
		return h
	}
	base := hash("thread: {max_turns: 5}\nlog_level: debug\n" + demoModels)
	require.Equal(t, base, hash(demoModels+"log_level: debug\nthread:\n  max_turns: 5 # five\n"), "order and comments do not count")
	require.Equal(t, base, hash(demoModels+"log_level: debug\nthread: {max_turns: 5, idle_timeout: 24h}\n"), "a default may be written out")
	require.NotEqual(t, base, hash(demoModels+"log_level: debug\nthread: {max_turns: 6}\n"))

	const keyed = "models: [{name: a, use: openai, model: m, api_key: $K, seed: $S}]\n"
	require.Equal(t, hash(keyed, "K", "old", "S", "1"), hash(keyed, "K", "new", "S", "1"), "a new key is no new config")
	require.NotEqual(t, hash(keyed, "K", "old", "S", "1"), hash(keyed, "K", "old", "S", "2"))
}
