package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// leadOrder is the table of the lead agent's chain.
func leadOrder() []place {
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
		{
			name: NameDynamicContext, seed: true, config: "memory",
			does: "Tells the date, once a day, and what is remembered of the user, once a thread.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &DynamicContext{} },
		},
		{
			name: NameSkillActivation, seed: true, config: "skills",
			does: "Takes up the skill that a message calls by /name.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &SkillActivation{} },
		},
		{
			name: NameSkillToolPolicy, config: "skills",
			does: "Keeps a run to the tools that its active skills allow.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &SkillToolPolicy{} },
		},
		{
			name: NameDurableContext, config: "summarization",
			does: "Frames the summary of what was compacted away, with the delegated work and the skills that went with it.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &DurableContext{} },
		},
		{
			name: NameSummarization, seed: true, config: "summarization",
			does: "Compacts a conversation at the configured triggers, and whatever does not fit into the model's window.",
			make: func(ctx workflow.Context, p *agent.Summary) Middleware {
				return NewSummarization(ctx, p.Summarization, p.Window)
			},
		},
		{
			name: NameTodoList, seed: true,
			does: "Keeps the plan of a run before the model's eyes, and asks it back when items are open.",
			when: "plan mode",
			on:   func(p *agent.Summary) bool { return p.PlanMode },
			make: func(workflow.Context, *agent.Summary) Middleware { return &TodoList{} },
		},
		{
			name: NameTokenUsage, seed: true, config: "token_usage",
			does: "Stores with each answer what its tokens went to.",
			when: "token_usage.enabled",
			on:   func(p *agent.Summary) bool { return p.TokenUsage },
			make: func(workflow.Context, *agent.Summary) Middleware { return &TokenUsage{} },
		},
		{
			name: NameTitle, seed: true, config: "title",
			does: "Names a thread after its first message.",
			when: "title.enabled",
			on:   func(p *agent.Summary) bool { return p.Title != nil },
			make: func(ctx workflow.Context, p *agent.Summary) Middleware { return NewTitle(ctx, *p.Title) },
		},
		{
			name: NameMemory, seed: true, config: "memory",
			does: "Hands a run that is over to the memory.",
			when: "memory.enabled",
			on:   func(p *agent.Summary) bool { return p.Memory },
			make: func(workflow.Context, *agent.Summary) Middleware { return NewMemory(nil) },
		},
		{
			name: NameViewImage, seed: true,
			does: "Shows the images that the model asked for to the call that follows.",
			when: "the model sees images",
			on:   func(p *agent.Summary) bool { return p.Vision },
			make: func(workflow.Context, *agent.Summary) Middleware { return &ViewImage{} },
		},
		{
			name: NameDeferredToolFilter, seed: true, config: "tool_search",
			does: "Hides deferred tools until a search promotes them.",
			when: "there are deferred tools",
			on:   func(p *agent.Summary) bool { return p.Deferred != nil },
			make: func(workflow.Context, *agent.Summary) Middleware { return &DeferredToolFilter{} },
		},
		{
			name: NameSystemMessageCoalescing, seed: true,
			does: "Joins system messages of a transcript into one that stands first.",
			make: func(workflow.Context, *agent.Summary) Middleware { return &SystemMessageCoalescing{} },
		},
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
