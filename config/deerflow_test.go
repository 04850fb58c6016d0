package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The file of an existing installation starts as it is: no error, one warning
// that names the sections that are missing here and one for settings. All of its
// tools are there.
func TestDeerFlowFileLoads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "deerflow.yaml"))
	require.NoError(t, err)
	c, warnings, err := parse("config.yaml", data, env("OPENAI_API_KEY", "k1", "DEEPSEEK_API_KEY", "k2"))
	require.NoError(t, err)

	require.Len(t, warnings, 2, "%v", warnings)
	starts := map[string][]string{
		"sections that this version does not use yet are ignored: ": {
			"logging (line 5)", "suggestions (", "input_polish (", "tool_progress (", "acp_agents (", "skill_scan (", "skill_evolution (",
			"agents_api (", "agent_storage (", "database (", "checkpointer (", "run_events (", "run_ownership (", "stream_bridge (",
			"dedupe_storage (", "scheduler (", "mcp_tasks (", "channels (", "channel_connections (", "authorization (", "extensions (", "plugins (",
		},
		"settings that this version does not use are ignored: ": {
			"models[0].max_retries (", "models[0].pricing (", "uploads.pdf_converter (", "subagents.custom_agents (", "memory.backend_config (", "auth.oidc (",
		},
	}
	for start, parts := range starts {
		found := false
		for _, w := range warnings {
			if !strings.HasPrefix(w.Msg, start) {
				continue
			}
			found = true
			for _, part := range parts {
				require.Contains(t, w.Msg, part)
			}
		}
		require.True(t, found, start)
	}

	want := Defaults()
	require.Equal(t, "house-model", c.Models[0].Name)
	require.Equal(t, 10*time.Minute, c.Models[0].Timeout)
	require.Equal(t, "sandbox:glob", c.Tools[5].Use)
	for _, tool := range c.Tools {
		require.True(t, tool.Available(), tool.Use)
	}
	require.Equal(t, want.Sandbox, c.Sandbox)
	require.Equal(t, want.Uploads, c.Uploads)
	require.Equal(t, want.TokenUsage, c.TokenUsage)
	require.Equal(t, want.TokenBudget, c.TokenBudget)
	require.Equal(t, want.SafetyFinishReason, c.SafetyFinishReason)
	require.Equal(t, want.Title, c.Title)
	require.Equal(t, want.Memory, c.Memory)
	require.Equal(t, want.Skills, c.Skills)
	require.Equal(t, want.ToolSearch, c.ToolSearch)
	require.Equal(t, want.Subagents, c.Subagents)
	require.Equal(t, want.CircuitBreaker, c.CircuitBreaker)
	require.Equal(t, 3, c.LLMCall.RetryMaxAttempts)
	require.Equal(t, GuardrailAllowlist, c.Guardrails.Provider.Use)
	require.Equal(t, []Measure{{Type: "tokens", Value: 32_000}}, c.Summarization.Trigger)
	require.Equal(t, Measure{Type: "messages", Value: 10}, c.Summarization.Keep)
	require.Equal(t, map[string]ToolFreq{"bash": {Warn: 150, HardLimit: 300}}, c.LoopDetection.ToolFreqOverrides)
}
