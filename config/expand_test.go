package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// expanded returns what a text value becomes.
func expanded(text string, lookup Lookup) (string, *decoder) {
	d := newDecoder("c.yaml", lookup)
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: 1}
	d.expand(n, "key", newExpansion())
	return n.Value, d
}

func TestExpand(t *testing.T) {
	t.Parallel()
	lookup := env("NAME", "value", "EMPTY", "", "DOLLAR", "$NAME ${NAME}", "_x9", "under")
	tests := map[string]struct{ text, want string }{
		"whole":                  {"$NAME", "value"},
		"whole, empty":           {"$EMPTY", ""},
		"underscore":             {"$_x9", "under"},
		"braces":                 {"${NAME}", "value"},
		"within":                 {"http://${NAME}:80/${NAME}", "http://value:80/value"},
		"not within":             {"a $NAME b", "a $NAME b"},
		"default":                {"${OTHER:-def}", "def"},
		"default not needed":     {"${NAME:-def}", "value"},
		"default for empty":      {"${EMPTY:-def}", "def"},
		"empty default":          {"${OTHER:-}", ""},
		"default with a colon":   {"${OTHER:-http://x:1}", "http://x:1"},
		"escaped whole":          {"$$NAME", "$NAME"},
		"escaped braces":         {"$${NAME}", "${NAME}"},
		"a price":                {"$5", "$5"},
		"a regular expression":   {"^a$", "^a$"},
		"held text is not read":  {"$DOLLAR", "$NAME ${NAME}"},
		"held text, in braces":   {"x${DOLLAR}", "x$NAME ${NAME}"},
		"a dollar before braces": {"$ ${NAME}", "$ value"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, d := expanded(tt.text, lookup)
			require.Equal(t, tt.want, got)
			require.NoError(t, d.err())
			require.Empty(t, d.warns)
		})
	}
}

func TestExpandErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"unset":         {"$NOPE", "c.yaml:1: key: the environment variable NOPE is not set"},
		"unset, braces": {"a${NOPE}b", "the environment variable NOPE is not set"},
		"open":          {"${NAME", `"${NAME" is not a variable`},
		"no name":       {"${}", `"${}" is not a variable`},
		"bad name":      {"${9x}", `"${9x}" is not a variable`},
		"other syntax":  {"${NAME:?must}", "write ${NAME} or ${NAME:-default}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, d := expanded(tt.text, env("NAME", "value"))
			require.ErrorContains(t, d.err(), tt.want)
		})
	}
	_, d := expanded("$OPENAI-KEY", env())
	require.Contains(t, lines(d.warns), "taken as plain text")
}

func TestExpandNeverTouchesKeys(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "tools: [{name: ls, use: 'sandbox:ls', $NOPE: $KEY, '${NOPE}': 1}]", "KEY", "held")
	require.Equal(t, ToolOptions{"$NOPE": "held", "${NOPE}": 1}, c.Tools[0].Options)
}

func TestExpandedValuesInTypedFields(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "thread: {max_turns: $N, idle_timeout: '${T:-10}s'}\nloop_detection: {enabled: $ON}\n"+
		"models: [{name: a, use: demo, temperature: $ZERO, seed: $N}]", "N", "12", "ON", "1", "ZERO", "0")
	require.Equal(t, 12, c.Thread.MaxTurns)
	require.Equal(t, "10s", c.Thread.IdleTimeout.String())
	require.True(t, c.LoopDetection.Enabled)
	require.Zero(t, *c.Models[0].Temperature)
	require.Equal(t, "12", c.Models[0].Extra["seed"], "a free value from a variable is text")
}

func TestErrorsNeverShowWhatAVariableHolds(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	for _, text := range []string{
		"thread: {max_turns: $KEY}",
		"thread: {idle_timeout: 'x${KEY}'}",
		"log_level: $KEY",
		"auth: {enabled: $KEY}",
		"thread: $KEY",
		"models: $KEY",
		"frontend_url: $KEY",
		"sandbox: {use: $KEY}",
		"sandbox: {mounts: [{host_path: $KEY, container_path: /mnt/x}]}",
		"models: [{name: a, use: $KEY}]",
		"models: [{name: a, use: openai, model: m, base_url: $KEY}]",
		"models: [{name: a, use: demo, provider: {streaming: $KEY}}]",
		"tools: [{name: a, use: $KEY}]",
		"clarification: {on_timeout: $KEY}",
		"server: {allowed_origins: [$KEY]}",
	} {
		got := fails(t, text, "KEY", secret)
		require.NotContains(t, got, secret, text)
	}
}

func TestExpandKeepsTextWithoutDollars(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[^$]{0,40}`).Draw(t, "text")
		got, d := expanded(text, env())
		if got != text || d.err() != nil {
			t.Fatalf("%q became %q (%v)", text, got, d.err())
		}
	})
}

func TestEscapedTextComesOutAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Z_][A-Z0-9_]{0,8}`).Draw(t, "name")
		for _, text := range []string{"$" + name, "${" + name + "}"} {
			got, d := expanded("$"+text, env(name, "held"))
			if got != text || d.err() != nil {
				t.Fatalf("$%s became %q (%v)", text, got, d.err())
			}
		}
	})
}
