package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func used(in, out int) thread.Usage {
	return thread.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out}
}

// The cases of spec 4.29 and 4.36.
func TestTokenBudget(t *testing.T) {
	t.Parallel()
	calls := []thread.CallDigest{{Name: "ls"}}
	for _, tc := range []struct {
		name  string
		rule  agent.BudgetRule
		usage thread.Usage
		calls []thread.CallDigest
		warn  string // what the next request says
		stop  string // what the message says
		final bool   // the run ends, and nothing is added
	}{
		{name: "below", rule: agent.BudgetRule{MaxTokens: 100_000}, usage: used(70_000, 9_000), calls: calls},
		{name: "a warning", rule: agent.BudgetRule{MaxTokens: 100_000}, usage: used(80_000, 5_000), calls: calls, warn: "85000 of its 100000 tokens (85%)"},
		{name: "a warning with an answer", rule: agent.BudgetRule{MaxTokens: 100_000}, usage: used(80_000, 5_000), warn: "85000 of its 100000 tokens (85%)"},
		{name: "the end", rule: agent.BudgetRule{MaxTokens: 100_000}, usage: used(100_000, 5_000), calls: calls, stop: "105000 of its 100000 tokens"},
		{name: "an answer at the end is whole", rule: agent.BudgetRule{MaxTokens: 100_000}, usage: used(100_000, 5_000), final: true},
		{name: "input alone", rule: agent.BudgetRule{MaxTokens: 100_000, MaxInput: 10_000}, usage: used(9_000, 1_000), calls: calls, warn: "9000 of its 10000 input tokens (90%)"},
		{name: "output alone", rule: agent.BudgetRule{MaxTokens: 100_000, MaxOutput: 5_000}, usage: used(1_000, 6_000), calls: calls, stop: "6000 of its 5000 output tokens"},
		{name: "the nearest limit counts", rule: agent.BudgetRule{MaxTokens: 10_000, MaxInput: 9_000}, usage: used(8_800, 200), calls: calls, warn: "8800 of its 9000 input tokens"},
		{name: "no usage told", rule: agent.BudgetRule{MaxTokens: 100_000}, calls: calls},
		{name: "no limit", rule: agent.BudgetRule{}, usage: used(1_000_000, 1), calls: calls},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.rule.Warn, tc.rule.Hard = 0.8, 1
			b := NewTokenBudget(nil, tc.rule)
			run := &Run{Usage: tc.usage}
			_, err := b.BeforeRun(nil, run)
			require.NoError(t, err)
			u, err := b.AfterModel(nil, run, answered("Thinking", "stop", tc.calls...))
			require.NoError(t, err)
			switch {
			case tc.stop != "":
				require.Len(t, u.Revisions, 1)
				r := u.Revisions[0]
				require.Equal(t, thread.Revision{MessageID: "m", StripCalls: true, AppendText: r.AppendText}, r)
				require.Regexp(t, `^\[TOKEN BUDGET EXCEEDED\] `, r.AppendText)
				require.Contains(t, r.AppendText, tc.stop)
				require.Equal(t, thread.StopTokenCapped, u.StopReason)
				require.Equal(t, step.GotoEnd, u.Goto)
			case tc.final:
				require.Equal(t, Update{Goto: step.GotoEnd}, u)
			default:
				require.Equal(t, Update{}, u, "a warning leaves the state alone")
			}
			for n := range 3 {
				request := &Request{}
				require.NoError(t, b.EditRequest(nil, run, request))
				if n > 0 || tc.warn == "" {
					require.Empty(t, request.Edits, "once a run")
				} else {
					require.Len(t, request.Edits, 1)
					require.Equal(t, agent.EditAppend, request.Edits[0].Op, "behind all messages")
					require.Equal(t, "budget_warning", request.Edits[0].Name)
					require.Regexp(t, `^\[TOKEN BUDGET WARNING\] `, request.Edits[0].Text)
					require.Contains(t, request.Edits[0].Text, tc.warn)
				}
				if tc.stop == "" && !tc.final {
					_, err := b.AfterModel(nil, run, answered("Thinking", "stop", tc.calls...))
					require.NoError(t, err)
				}
			}
		})
	}
}

// The answer to a question goes on with what is left; a restart changes nothing.
func TestABudgetCarriesOnBehindAQuestion(t *testing.T) {
	t.Parallel()
	rule := agent.BudgetRule{MaxTokens: 1000, Warn: 0.8, Hard: 1}
	again := func(b *TokenBudget) *TokenBudget {
		saved, err := b.Save(nil)
		require.NoError(t, err)
		next := NewTokenBudget(nil, rule)
		if saved != nil {
			require.NoError(t, next.Restore(nil, saved))
		}
		return next
	}
	b := again(NewTokenBudget(nil, rule))
	_, err := b.BeforeRun(nil, &Run{})
	require.NoError(t, err)
	u, err := b.AfterModel(nil, &Run{Usage: used(500, 0)}, answered("", "tool_calls", thread.CallDigest{Name: ToolAskClarification}))
	require.NoError(t, err)
	require.Equal(t, Update{}, u)
	b = again(b)
	// A tool beside the question used a model.
	_, err = b.AfterRun(nil, &Run{Usage: used(600, 0)})
	require.NoError(t, err)
	b = again(b)
	_, err = b.BeforeRun(nil, &Run{})
	require.NoError(t, err)
	u, err = b.AfterModel(nil, &Run{Usage: used(300, 0)}, answered("", "tool_calls", thread.CallDigest{Name: "ls"}))
	require.NoError(t, err)
	require.Equal(t, Update{}, u)
	b = again(b)
	request := &Request{}
	require.NoError(t, b.EditRequest(nil, &Run{}, request))
	require.Len(t, request.Edits, 1)
	require.Contains(t, request.Edits[0].Text, "900 of its 1000 tokens (90%)")
	b = again(b)
	u, err = b.AfterModel(nil, &Run{Usage: used(400, 0)}, answered("", "tool_calls", thread.CallDigest{Name: "ls"}))
	require.NoError(t, err)
	require.Equal(t, thread.StopTokenCapped, u.StopReason)
	require.Contains(t, u.Revisions[0].AppendText, "1000 of its 1000 tokens")
}
