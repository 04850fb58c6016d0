package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// contextOrder is what the lead agent reads.
func contextOrder() []place {
	return []place{
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
	}
}
