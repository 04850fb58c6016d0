package middleware

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
)

// answers is a provider that says one thing.
type answers struct {
	decision agent.Decision
	err      error
}

func (a answers) Decide(workflow.Context, *Run, *ToolCall) (agent.Decision, error) {
	return a.decision, a.err
}

func TestWhatTheGuardrailDenies(t *testing.T) {
	t.Parallel()
	allow := agent.Decision{Allow: true}
	for _, tc := range []struct {
		name     string
		provider GuardrailProvider
		closed   bool
		tells    []string // of the refusal; none: the tool is run
	}{
		{"allowed", answers{decision: allow}, true, nil},
		{"denied", answers{decision: agent.Decision{Code: "oap.limit", Reason: "too many"}}, true, []string{"bash", "(oap.limit)", "too many", "another approach"}},
		{"denied, open", answers{decision: agent.Decision{Code: "oap.limit", Reason: "too many"}}, false, []string{"(oap.limit)"}},
		{"denied without a reason", answers{}, true, []string{"(oap.denied)", "not allowed"}},
		{"10.17-2 fails, closed", answers{decision: allow, err: errors.New("away")}, true, []string{"(oap.evaluator_error)"}},
		{"10.17-2 fails, open", answers{err: errors.New("away")}, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := &Guardrail{provider: tc.provider, failClosed: tc.closed}
			reply, _ := around(t, g, runOf(agent.Summary{}), callOf("bash"))
			if tc.tells == nil {
				require.Nil(t, reply)
				return
			}
			require.True(t, reply.Error)
			for _, part := range tc.tells {
				require.Contains(t, reply.Text, part)
			}
			require.NotContains(t, reply.Text, "away", "how a provider fails is not the model's")
		})
	}
}

func TestTheGuardrailOfAPlan(t *testing.T) {
	t.Parallel()
	lists := NewGuardrail(nil, agent.GuardrailRule{Provider: agent.ProviderAllowlist, Allowed: []string{"ls"}})
	reply, _ := around(t, lists, runOf(agent.Summary{}), callOf("ls"))
	require.Nil(t, reply)
	reply, _ = around(t, lists, runOf(agent.Summary{}), callOf("bash"))
	require.Contains(t, reply.Text, agent.CodeNotAllowed)

	unknown := NewGuardrail(nil, agent.GuardrailRule{Provider: "later", FailClosed: true})
	reply, _ = around(t, unknown, runOf(agent.Summary{}), callOf("ls"))
	require.Contains(t, reply.Text, agent.CodeEvaluator)
}

func TestACancelIsNoDecision(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{temporal.NewCanceledError(), context.Canceled} {
		inWorkflow(t, func(ctx workflow.Context) {
			ctx, cancel := workflow.WithCancel(ctx)
			cancel()
			g := &Guardrail{provider: answers{err: failed}}
			_, err := g.AroundTool(ctx, runOf(agent.Summary{}), callOf("ls"), func(workflow.Context, *ToolCall, *step.Reply) (ToolReply, error) {
				require.Fail(t, "nothing is run")
				return ToolReply{}, nil
			})
			require.ErrorIs(t, err, failed)
		})
	}
}
