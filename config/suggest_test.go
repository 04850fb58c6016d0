package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	keys := []string{"name", "use", "model", "max_turns", "idle_timeout", "continue_as_new_events"}
	tests := map[string]string{
		"name":                  "name",
		"usee":                  "use",
		"max_turn":              "max_turns",
		"maxturns":              "max_turns",
		"Max-Turns":             "max_turns",
		"idel_timeout":          "idle_timeout",
		"continue_as_new_event": "continue_as_new_events",
		"temperature":           "",
		"x":                     "",
		"":                      "",
	}
	for word, want := range tests {
		require.Equal(t, want, suggest(word, keys), word)
	}
	require.Equal(t, "; did you mean name?", didYouMean("nme", keys))
	require.Empty(t, didYouMean("banana", keys))
}

func TestDistanceIsAMetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c]{0,7}`)
		a, b := []rune(word.Draw(t, "a")), []rune(word.Draw(t, "b"))
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (string(a) == string(b)) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Fatalf("distance(%q, %q) = %d", string(a), string(b), d)
		}
	})
}
