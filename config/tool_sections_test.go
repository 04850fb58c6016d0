package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolOutputSection(t *testing.T) {
	t.Parallel()
	d := Defaults().ToolOutput
	require.Equal(t, ToolOutput{
		Enabled: true, ExternalizeMinChars: 12000, PreviewHeadChars: 2000, PreviewTailChars: 1000,
		FallbackMaxChars: 30000, FallbackHeadChars: 8000, FallbackTailChars: 3000,
		StorageSubdir: ".tool-results", ExemptTools: []string{"read_file", "read_file_tool"},
	}, d)

	c, _ := load(t, "tool_output:\n  externalize_min_chars: 500\n  tool_overrides: {bash: 0, web_fetch: 9}\n  exempt_tools: []\n")
	require.Equal(t, 500, c.ToolOutput.ExternalizeMinChars)
	require.Equal(t, map[string]int{"bash": 0, "web_fetch": 9}, c.ToolOutput.ToolOverrides)
	require.Empty(t, c.ToolOutput.ExemptTools)
	require.Equal(t, 30000, c.ToolOutput.FallbackMaxChars)

	for _, subdir := range []string{`""`, `.`, `..`, `a/b`, `/a`, `'a\b'`} {
		require.Contains(t, fails(t, "tool_output:\n  storage_subdir: "+subdir+"\n"), "2: tool_output.storage_subdir: want the name of one directory", subdir)
	}
	require.Contains(t, fails(t, "tool_output:\n  tool_overrides: {bash: -1}\n"), "tool_output.tool_overrides.bash")
	require.Contains(t, fails(t, "tool_output:\n  fallback_max_chars: 0\n"), "tool_output.fallback_max_chars")
}

func TestReadBeforeWriteSection(t *testing.T) {
	t.Parallel()
	require.True(t, Defaults().ReadBeforeWrite.Enabled)
	c, _ := load(t, "read_before_write:\n  enabled: false\n")
	require.False(t, c.ReadBeforeWrite.Enabled)
}

func TestGuardrailsSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, Guardrails{FailClosed: true}, Defaults().Guardrails)

	c, _ := load(t, "guardrails:\n  enabled: true\n  provider:\n    use: deerflow.guardrails.builtin:AllowlistProvider\n    config: {allowed_tools: [], denied_tools: [bash]}\n")
	require.Equal(t, GuardrailAllowlist, c.Guardrails.Provider.Use)
	require.NotNil(t, c.Guardrails.Provider.Config.AllowedTools, "an empty list is one")
	require.Empty(t, c.Guardrails.Provider.Config.AllowedTools)
	require.Equal(t, []string{"bash"}, c.Guardrails.Provider.Config.DeniedTools)

	c, _ = load(t, "guardrails:\n  enabled: true\n  provider:\n    use: allowlist\n    config: {allowed_tools: null}\n")
	require.Nil(t, c.Guardrails.Provider.Config.AllowedTools, "null is no list")

	require.Contains(t, fails(t, "guardrails:\n  enabled: true\n  provider:\n    use: aport:OAPProvider\n    config: {policy: x}\n"),
		`4: guardrails.provider.use: unknown provider "aport:OAPProvider"; this version has: allowlist`)
	load(t, "guardrails:\n  enabled: false\n  provider:\n    use: aport:OAPProvider\n    config: {policy: x}\n")
	require.Contains(t, fails(t, "guardrails:\n  provider:\n    use: allowlist\n    config: {allowed_tool: [ls]}\n"), "unknown key allowed_tool")
}

func TestExportSection(t *testing.T) {
	t.Parallel()
	require.Empty(t, Defaults().Export.PDFFonts)
	c, _ := load(t, "export:\n  pdf_fonts: [/fonts/a.ttc]\n")
	require.Equal(t, []string{"/fonts/a.ttc"}, c.Export.PDFFonts)
	require.Contains(t, fails(t, "export:\n  pdf_fonts:\n    - fonts/a.ttf\n"), "3: export.pdf_fonts[0]: want the absolute path of a font")
}
