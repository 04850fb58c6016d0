package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// limitsOrder is what bounds an agent's work, and the ways in which it ends.
func limitsOrder() []place {
	return []place{
		{
			name: NameSubagentLimit, seed: true, config: "subagents",
			does: "Bounds the sub-agents of a run: some wait, those above the total are refused.",
			when: "sub-agents are enabled",
			on:   func(p *agent.Summary) bool { return p.Subagents != nil },
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewSubagentLimit(ctx, *p.Subagents) },
		},
		{
			name: NameLoopDetection, seed: true, config: "loop_detection",
			does: "Warns of calls that repeat, then ends the run.",
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewCyclicLoopDetection(ctx, p.Loop) },
		},
		{
			name: NameTokenBudget, seed: true, config: "token_budget",
			does: "Warns a run that has used most of its tokens, then ends it.",
			when: "token_budget.enabled",
			on:   func(p *agent.Summary) bool { return p.Budget != nil },
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewTokenBudget(ctx, *p.Budget) },
		},
		{
			name: NameTerminalResponse,
			does: "Asks once more when a run that used tools would end with nothing to show.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &TerminalResponse{} },
		},
		{
			name: NameModelLength,
			does: "Notes an answer that was cut at the output limit, and ends a run whose calls are cut again and again.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &ModelLength{} },
		},
		{
			name: NameSafetyFinishReason, seed: true, config: "safety_finish_reason",
			does: "Ends a run whose provider stopped the answer for safety.",
			when: "safety_finish_reason.enabled",
			on:   func(p *agent.Summary) bool { return p.Safety != nil },
			make: func(workflow.Context, *agent.Summary) Middleware { return &SafetyFinishReason{} },
		},
		{
			name: NameClarification, seed: true, config: "clarification",
			does: "Lets a question stop the loop until its answer comes.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &Clarification{} },
		},
	}
}
