package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// leadOrder is the table of the lead agent's chain.
func leadOrder() []place {
	return []place{
		{
			name: NameDanglingToolCall, seed: true,
			does: "Gives every tool call in view that has no result one that says so, for the request.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &DanglingToolCall{} },
		},
		{
			name: NameLLMErrorHandling, seed: true, config: "llm_call, circuit_breaker",
			does: "Turns a model call that failed for good into a message; waits as long as a provider asks.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &LLMErrorHandling{} },
		},
		{
			name: NameToolErrorHandling, seed: true,
			does: "Makes every failure around a tool a result for the model.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &ToolErrorHandling{} },
		},
		{
			name: NameLoopDetection, seed: true, config: "loop_detection",
			does: "Warns of calls that repeat, then ends the run.",
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewLoopDetection(ctx, p.Loop) },
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
			name: NameClarification, seed: true, config: "clarification",
			does: "Lets a question stop the loop until its answer comes.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &Clarification{} },
		},
	}
}
