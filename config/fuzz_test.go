package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the file holds, the answer is a usable config or errors that each
// name a place in one line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a: &a [*a]", "models:\n- {name: a, use: openai, model: m, api_base: $X}", "tools: [{name: ls, use: 'sandbox:ls'}]",
		"thread: {<<: {max_turns: 3}}", "x: ${A:-b}", "? [a]\n: b", "- a\n\tb", "log_level: !!binary aa", "a: 1\n---\nb", "\x00", "sandbox: {mounts: [{host_path: /a}]}",
		"models: [{name: a, use: demo, default_headers: {a: 1}, extra: {x: .nan}}]", "max_retries: 3\nllm_call: &c {<<: *c}", "%YAML 9\n---\n", "thread: {\"two\\nlines\": 1}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := parse("c.yaml", []byte(text), env("X", "http://x", "A", ""))
		if err != nil {
			require.Nil(t, c)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.True(t, strings.HasPrefix(line, "c.yaml:"), "%q", line)
			}
			return
		}
		require.NotEmpty(t, c.Models)
		_, err = c.Hash()
		require.NoError(t, err)
	})
}

func FuzzDotenv(f *testing.F) {
	for _, seed := range []string{"", "A=1", "A", "export A='x", "A=\"\n", "=x", "a b=c\n", "\n\n#\nA: 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := parseDotenv(".env", []byte(text))
		if err == nil {
			require.NotContains(t, vars, "")
			return
		}
		var place *Error
		require.ErrorAs(t, err, &place)
		require.GreaterOrEqual(t, place.Line, 1)
		require.LessOrEqual(t, place.Line, strings.Count(text, "\n")+1)
	})
}
