package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// runtimeOrder is what every agent has around its model and its tools.
func runtimeOrder() []place {
	return []place{
		{
			name: NameInputSanitization, seed: true, config: "input",
			does: "Shows where a user's words begin and end, and escapes the framework's tags in them.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &InputSanitization{} },
		},
		{
			name: NameToolOutputBudget, seed: true, config: "tool_output",
			does: "Bounds what results of tools have in the transcript: long ones go to a file.",
			when: "tool_output.enabled",
			on:   func(p *agent.Summary) bool { return p.ToolOutput != nil },
			make: func(workflow.Context, *agent.Summary) Middleware { return &ToolOutputBudget{} },
		},
		{
			name: NameToolResultSanitization,
			does: "Escapes the framework's tags in what web tools bring.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &ToolResultSanitization{} },
		},
		{
			name: NameThreadData, seed: true,
			does: "Tells the directories of the thread.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &ThreadData{} },
		},
		{
			name: NameUploads, seed: true, config: "uploads",
			does: "Keeps the files of the current message in the state; the model reads of them beside the message.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &Uploads{} },
		},
		{
			name: NameSandbox, seed: true, config: "sandbox",
			does: "Keeps a thread in one sandbox.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &Sandbox{} },
		},
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
			name: NameGuardrail, seed: true, config: "guardrails",
			does: "Asks a provider whether a tool may be called.",
			when: "guardrails.enabled, with a provider",
			on:   func(p *agent.Summary) bool { return p.Guardrail != nil },
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewGuardrail(ctx, *p.Guardrail) },
		},
		{
			name: NameSandboxAudit, seed: true,
			does: "Blocks dangerous shell commands, and notes risky ones.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &SandboxAudit{} },
		},
		{
			name: NameReadBeforeWrite, config: "read_before_write",
			does: "Lets a file be changed only as the model has last read it.",
			when: "read_before_write.enabled",
			on:   func(p *agent.Summary) bool { return p.ReadBeforeWrite },
			make: func(workflow.Context, *agent.Summary) Middleware { return &ReadBeforeWrite{} },
		},
		{
			name: NameToolErrorHandling, seed: true,
			does: "Makes every failure around a tool a result for the model.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &ToolErrorHandling{} },
		},
	}
}
