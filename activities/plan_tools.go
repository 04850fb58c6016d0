package activities

import (
	"deerflow/config"
	"deerflow/internal/agent"
)

// guardTools puts into a summary what the configuration says about tool calls:
// how long their results may be, what may be written, what is denied.
func guardTools(s *agent.Summary, cfg *config.Config) {
	s.ToolOutput = toolOutputRule(&cfg.ToolOutput)
	s.ReadBeforeWrite = cfg.ReadBeforeWrite.Enabled
	s.Guardrail = guardrailRule(&cfg.Guardrails)
}

func toolOutputRule(c *config.ToolOutput) *agent.ToolOutputRule {
	if !c.Enabled {
		return nil
	}
	return &agent.ToolOutputRule{
		ExternalizeMin: c.ExternalizeMinChars, PreviewHead: c.PreviewHeadChars, PreviewTail: c.PreviewTailChars,
		FallbackMax: c.FallbackMaxChars, FallbackHead: c.FallbackHeadChars, FallbackTail: c.FallbackTailChars,
		Subdir: c.StorageSubdir, Exempt: c.ExemptTools, Overrides: c.ToolOverrides,
	}
}

// guardrailRule is nil when nothing is asked.
func guardrailRule(c *config.Guardrails) *agent.GuardrailRule {
	if !c.Enabled || c.Provider == nil {
		return nil
	}
	lists := c.Provider.Config
	return &agent.GuardrailRule{
		Provider: c.Provider.Use, FailClosed: c.FailClosed,
		Allowed: lists.AllowedTools, AllowAll: lists.AllowedTools == nil, Denied: lists.DeniedTools,
	}
}
