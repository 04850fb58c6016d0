package activities

import (
	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// promptInput is what the prompt of a plan depends on: the configuration, the
// plan's tools and what the run asks for, and nothing else. The prompt of a thread
// stays the same as long as these do.
func promptInput(cfg *config.Config, plan *agent.Plan, o thread.RunOptions) agent.PromptInput {
	has := func(tool string) bool {
		_, ok := plan.Spec(tool)
		return ok
	}
	in := agent.PromptInput{
		// A run that may not ask must not be told to; nor one that nobody watches.
		Clarification: has("ask_clarification") && !o.DisableClarification && !o.NonInteractive,
		PlanMode:      plan.Summary.PlanMode,
		Bash:          has("bash"),
	}
	for _, m := range cfg.Sandbox.Mounts {
		in.Mounts = append(in.Mounts, agent.PromptMount{Path: m.ContainerPath, ReadOnly: m.ReadOnly})
	}
	return in
}
