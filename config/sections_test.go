package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const demoModels = "models: [{name: d, use: demo}]\n"

func TestLaterSectionsGiveOneWarning(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, name := range laterSections() {
		fmt.Fprintf(&text, "%s: {a: 1}\n", name)
	}
	c, warnings := load(t, text.String()+demoModels)
	require.Equal(t, "d", c.Models[0].Name)
	require.NotContains(t, warnings, "\n")
	for i, name := range laterSections() {
		require.Contains(t, warnings, fmt.Sprintf("%s (line %d)", name, i+1))
	}
}

func TestSectionListsDoNotOverlap(t *testing.T) {
	t.Parallel()
	ours := fieldNames(Config{})
	for _, name := range laterSections() {
		require.False(t, slices.Contains(ours, name), name)
	}
	for alias, section := range topLevelAliases() {
		require.Contains(t, ours, section)
		require.NotContains(t, ours, alias)
	}
}

func TestTopLevelMaxRetries(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"alone":             "max_retries: 7\n",
		"beside others":     "llm_call: {max_concurrent_calls: 2}\nmax_retries: 7\n",
		"empty section":     "llm_call:\nmax_retries: 7\n",
		"within":            "llm_call: {max_retries: 7}\n",
		"DeerFlow's":        "llm_call: {retry_max_attempts: 7}\n",
		"section by anchor": "x-calls: &calls {max_concurrent_calls: 2}\nllm_call: *calls\nmax_retries: 7\n",
		"null is not given": "max_retries:\nllm_call: {retry_max_attempts: 7}\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := load(t, text+demoModels)
			require.Equal(t, 7, c.LLMCall.RetryMaxAttempts)
		})
	}
	require.Contains(t, fails(t, "max_retries: 0\n"), "want at least 1")
	require.Contains(t, fails(t, "llm_call: {max_retries: 1}\nmax_retries: 2\n"), "given twice; the first is in line 1")
	require.Contains(t, fails(t, "llm_call: 3\nmax_retries: 2\n"), "c.yaml:1: llm_call: want keys and values")
}

func TestUnusedSettings(t *testing.T) {
	t.Parallel()
	_, warnings := load(t, demoModels+"uploads:\n  auto_convert_documents: false\n  pdf_converter: auto\nsandbox:\n  port: 8080\nauth:\n  local: {allow_registration: true}\n")
	require.Equal(t, "c.yaml:3: settings that this version does not use are ignored: uploads.auto_convert_documents (line 3), "+
		"uploads.pdf_converter (line 4), sandbox.port (line 6), auth.local (line 8)", sortNotes(warnings))
}

// sortNotes keeps the test free of the order of sections in the struct.
func sortNotes(s string) string {
	head, list, _ := strings.Cut(s, "ignored: ")
	parts := strings.Split(list, ", ")
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, "(line"):], b[strings.Index(b, "(line"):])
	})
	return head + "ignored: " + strings.Join(parts, ", ")
}

func TestKeysForAnchorsAreNoUnknownSections(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, "x-base: &base {use: demo, supports_vision: true}\nmodels:\n  - {<<: *base, name: a}\n  - {<<: *base, name: b, supports_vision: false}\n")
	require.Empty(t, warnings)
	require.True(t, c.Models[0].SupportsVision)
	require.False(t, c.Models[1].SupportsVision)
}
