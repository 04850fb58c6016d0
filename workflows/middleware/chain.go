package middleware

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
)

// Names of the middlewares.
const (
	NameInputSanitization       = "InputSanitization"
	NameToolOutputBudget        = "ToolOutputBudget"
	NameToolResultSanitization  = "ToolResultSanitization"
	NameThreadData              = "ThreadData"
	NameUploads                 = "Uploads"
	NameSandbox                 = "Sandbox"
	NameDanglingToolCall        = "DanglingToolCall"
	NameLLMErrorHandling        = "LLMErrorHandling"
	NameGuardrail               = "Guardrail"
	NameSandboxAudit            = "SandboxAudit"
	NameReadBeforeWrite         = "ReadBeforeWrite"
	NameToolErrorHandling       = "ToolErrorHandling"
	NameDynamicContext          = "DynamicContext"
	NameSkillActivation         = "SkillActivation"
	NameSkillToolPolicy         = "SkillToolPolicy"
	NameDurableContext          = "DurableContext"
	NameSummarization           = "Summarization"
	NameTodoList                = "TodoList"
	NameTokenUsage              = "TokenUsage"
	NameTitle                   = "Title"
	NameMemory                  = "Memory"
	NameViewImage               = "ViewImage"
	NameDeferredToolFilter      = "DeferredToolFilter"
	NameSystemMessageCoalescing = "SystemMessageCoalescing"
	NameSubagentLimit           = "SubagentLimit"
	NameLoopDetection           = "LoopDetection"
	NameTokenBudget             = "TokenBudget"
	NameTerminalResponse        = "TerminalResponse"
	NameModelLength             = "ModelLength"
	NameSafetyFinishReason      = "SafetyFinishReason"
	NameClarification           = "Clarification"
)

// Chain is an ordered list of middlewares.
type Chain struct{ links []Middleware }

// First is the chain of loops of version 1, which began before there was more.
func First(ctx workflow.Context, plan *agent.Summary) (*Chain, error) {
	return New(ctx,
		&DanglingToolCall{},
		&LLMErrorHandling{},
		&ToolErrorHandling{},
		NewLoopDetection(ctx, plan.Loop),
		&TerminalResponse{},
		&ModelLength{},
		&Clarification{},
	)
}

// New makes a chain and checks its order: Clarification is last, and each
// constraint holds. The error names the two that stand wrong.
func New(_ workflow.Context, links ...Middleware) (*Chain, error) {
	at := map[string]int{}
	for i, m := range links {
		if _, twice := at[m.Name()]; twice {
			return nil, fmt.Errorf("middleware %s stands in the chain twice", m.Name())
		}
		at[m.Name()] = i
	}
	for _, c := range constraints() {
		i, okFirst := at[c.first]
		j, okSecond := at[c.second]
		if okFirst && okSecond && i > j {
			return nil, fmt.Errorf("middleware %s must stand before %s: %s", c.first, c.second, c.reason)
		}
	}
	if i, ok := at[NameClarification]; ok && i != len(links)-1 {
		return nil, fmt.Errorf("middleware %s must stand after %s: nothing may run inside a question", NameClarification, links[len(links)-1].Name())
	}
	return &Chain{links: links}, nil
}

// Names lists the chain in order.
func (c *Chain) Names() []string {
	names := make([]string, 0, len(c.links))
	for _, m := range c.links {
		names = append(names, m.Name())
	}
	return names
}

// Apply is how the loop takes an update.
type Apply func(ctx workflow.Context, u Update) error

// BeforeRun runs the hooks first to last.
func (c *Chain) BeforeRun(ctx workflow.Context, run *Run, apply Apply) error {
	for _, m := range c.links {
		u, err := m.BeforeRun(ctx, run)
		if err := took(ctx, m, "before the run", u, err, apply); err != nil || u.Reply != nil {
			return err
		}
	}
	return nil
}

// BeforeModel runs the hooks first to last.
func (c *Chain) BeforeModel(ctx workflow.Context, run *Run, apply Apply) error {
	for _, m := range c.links {
		u, err := m.BeforeModel(ctx, run)
		if err := took(ctx, m, "before the model", u, err, apply); err != nil {
			return err
		}
	}
	return nil
}

// Request collects the edits of one model call.
func (c *Chain) Request(ctx workflow.Context, run *Run) (*Request, error) {
	request := &Request{}
	for _, m := range c.links {
		if err := m.EditRequest(ctx, run, request); err != nil {
			return nil, fmt.Errorf("middleware %s, edit the request: %w", m.Name(), err)
		}
	}
	return request, nil
}

// Model makes the call through all around hooks; the first is the outermost.
func (c *Chain) Model(ctx workflow.Context, run *Run, request *Request, call ModelCall) (ModelReply, error) {
	next := call
	for i := len(c.links) - 1; i >= 0; i-- {
		m, inner := c.links[i], next
		next = func(ctx workflow.Context, request *Request) (ModelReply, error) {
			return m.AroundModel(ctx, run, request, inner)
		}
	}
	return next(ctx, request)
}

// AfterModel runs the hooks last to first. A goto ends the walk: the hooks that
// stand before are skipped for this message.
func (c *Chain) AfterModel(ctx workflow.Context, run *Run, reply *ModelReply, apply Apply) (step.Goto, error) {
	for i := len(c.links) - 1; i >= 0; i-- {
		m := c.links[i]
		u, err := m.AfterModel(ctx, run, reply)
		if err := took(ctx, m, "after the model", u, err, apply); err != nil {
			return "", err
		}
		if u.Goto != "" {
			return u.Goto, nil
		}
	}
	return "", nil
}

// Tool runs one call through all around hooks; the first is the outermost.
func (c *Chain) Tool(ctx workflow.Context, run *Run, call *ToolCall, handler ToolHandler) (ToolReply, error) {
	next := handler
	for i := len(c.links) - 1; i >= 0; i-- {
		m, inner := c.links[i], next
		next = func(ctx workflow.Context, call *ToolCall, reply *step.Reply) (ToolReply, error) {
			if reply != nil {
				return inner(ctx, call, reply)
			}
			return m.AroundTool(ctx, run, call, inner)
		}
	}
	return next(ctx, call, nil)
}

// AfterRun runs the hooks last to first.
func (c *Chain) AfterRun(ctx workflow.Context, run *Run, apply Apply) error {
	for i := len(c.links) - 1; i >= 0; i-- {
		u, err := c.links[i].AfterRun(ctx, run)
		if err := took(ctx, c.links[i], "after the run", u, err, apply); err != nil {
			return err
		}
	}
	return nil
}

// Save gathers the state of the middlewares that have some.
func (c *Chain) Save(ctx workflow.Context) (map[string]json.RawMessage, error) {
	saved := map[string]json.RawMessage{}
	for _, m := range c.links {
		s, ok := m.(Stateful)
		if !ok {
			continue
		}
		data, err := s.Save(ctx)
		if err != nil {
			return nil, fmt.Errorf("save middleware %s: %w", m.Name(), err)
		}
		if data != nil {
			saved[m.Name()] = data
		}
	}
	return saved, nil
}

// Restore gives saved state back; what nobody owns any more is left alone.
func (c *Chain) Restore(ctx workflow.Context, saved map[string]json.RawMessage) error {
	for _, m := range c.links {
		s, ok := m.(Stateful)
		if !ok || saved[m.Name()] == nil {
			continue
		}
		if err := s.Restore(ctx, saved[m.Name()]); err != nil {
			return fmt.Errorf("restore middleware %s: %w", m.Name(), err)
		}
	}
	return nil
}

func took(ctx workflow.Context, m Middleware, when string, u Update, err error, apply Apply) error {
	if err == nil {
		err = apply(ctx, u)
	}
	if err != nil {
		return fmt.Errorf("middleware %s, %s: %w", m.Name(), when, err)
	}
	return nil
}
