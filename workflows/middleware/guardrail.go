package middleware

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
)

// GuardrailProvider decides about a tool call. An error other than a cancel means
// that it could not decide.
type GuardrailProvider interface {
	Decide(ctx workflow.Context, run *Run, call *ToolCall) (agent.Decision, error)
}

// Guardrail asks a provider before each tool call; what it denies is not run, and
// the model is told why. A provider that cannot decide denies, unless
// guardrails.fail_closed is off. Configured by guardrails; the built-in provider
// is a list of tools.
type Guardrail struct {
	Base
	provider   GuardrailProvider
	failClosed bool
}

// NewGuardrail makes the middleware with the provider that the rule names.
func NewGuardrail(_ workflow.Context, rule agent.GuardrailRule) *Guardrail {
	g := &Guardrail{failClosed: rule.FailClosed, provider: unknownProvider(rule.Provider)}
	if rule.Provider == agent.ProviderAllowlist {
		g.provider = toolLists{rule}
	}
	return g
}

// Name is Guardrail.
func (*Guardrail) Name() string { return NameGuardrail }

// AroundTool asks the provider.
func (g *Guardrail) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	decision, err := g.provider.Decide(ctx, run, call)
	var cancelled *temporal.CanceledError
	switch {
	case err == nil:
	case errors.As(err, &cancelled) || ctx.Err() != nil:
		return ToolReply{}, err
	case g.failClosed:
		workflow.GetLogger(ctx).Warn("The guardrail could not decide; the call is denied", "tool", call.Name, "error", err)
		decision = agent.Decision{Code: agent.CodeEvaluator, Reason: "the guardrail could not decide"}
	default:
		workflow.GetLogger(ctx).Warn("The guardrail could not decide; the call is allowed", "tool", call.Name, "error", err)
		decision = agent.Decision{Allow: true}
	}
	if decision.Allow {
		return next(ctx, call, nil)
	}
	return next(ctx, call, &step.Reply{Error: true, Text: denied(call.Name, decision)})
}

func denied(tool string, d agent.Decision) string {
	if d.Code == "" {
		d.Code = agent.CodeDenied
	}
	if d.Reason == "" {
		d.Reason = "the call is not allowed here"
	}
	return fmt.Sprintf("Error: the guardrail denied tool %s (%s): %s. Take another approach, without this tool.", tool, d.Code, d.Reason)
}

// toolLists is the provider that is data alone.
type toolLists struct{ rule agent.GuardrailRule }

// Decide looks the tool up in the lists.
func (l toolLists) Decide(_ workflow.Context, _ *Run, call *ToolCall) (agent.Decision, error) {
	return l.rule.Decide(call.Name), nil
}

// unknownProvider stands for one that this version does not have; a config that
// names it is refused, but a plan may come from another version.
type unknownProvider string

// Decide cannot.
func (p unknownProvider) Decide(workflow.Context, *Run, *ToolCall) (agent.Decision, error) {
	return agent.Decision{}, fmt.Errorf("guardrail provider %q is not known", string(p))
}
