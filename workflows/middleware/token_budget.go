package middleware

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// TokenBudget warns a run that has used most of its tokens, and ends one that
// has used them all (spec 4.29). What counts is the loop's usage, with the
// models that were called on the side, over all API runs that a question has
// split it into. Defaults: 200,000 tokens, a warning at 0.8, the end at 1.0; off
// unless token_budget.enabled.
type TokenBudget struct {
	Base
	rule  agent.BudgetRule
	state budgetState
}

type budgetState struct {
	Before tokens `json:"before,omitzero"` // of the API runs that have ended
	Last   tokens `json:"last,omitzero"`   // of the one at work
	Warned bool   `json:"warned,omitempty"`
	Due    string `json:"due,omitempty"` // the warning that goes with the next request
}

// tokens are the counts that a budget has.
type tokens struct {
	Total  int `json:"t"`
	Input  int `json:"i"`
	Output int `json:"o"`
}

func tokensOf(u thread.Usage) tokens {
	return tokens{Total: u.TotalTokens, Input: u.InputTokens, Output: u.OutputTokens}
}

func (t tokens) add(u tokens) tokens {
	return tokens{Total: t.Total + u.Total, Input: t.Input + u.Input, Output: t.Output + u.Output}
}

// NewTokenBudget makes the middleware.
func NewTokenBudget(_ workflow.Context, rule agent.BudgetRule) *TokenBudget {
	return &TokenBudget{rule: rule}
}

// Name is TokenBudget.
func (*TokenBudget) Name() string { return NameTokenBudget }

// BeforeRun closes the account of the API run before: the answer to a question
// goes on with what is left.
func (t *TokenBudget) BeforeRun(workflow.Context, *Run) (Update, error) {
	t.state.Before, t.state.Last = t.state.Before.add(t.state.Last), tokens{}
	return Update{}, nil
}

// EditRequest gives the warning, once, behind all messages.
func (t *TokenBudget) EditRequest(_ workflow.Context, _ *Run, request *Request) error {
	if t.state.Due != "" {
		request.Append("budget_warning", t.state.Due)
		t.state.Due = ""
	}
	return nil
}

// AfterModel counts, warns, and ends the run of a model that wants to go on
// beyond its budget. An answer without calls is whole and stays as it is; nobody
// may call the model again after it.
func (t *TokenBudget) AfterModel(_ workflow.Context, run *Run, reply *ModelReply) (Update, error) {
	t.state.Last = tokensOf(run.Usage)
	use := t.fullest(t.state.Before.add(t.state.Last))
	switch {
	case use.limit == 0 || use.fraction() < t.rule.Warn:
		return Update{}, nil
	case use.fraction() >= t.rule.Hard && len(reply.Message.Calls) == 0:
		return Update{Goto: step.GotoEnd}, nil
	case use.fraction() >= t.rule.Hard:
		return Update{
			Revisions: []thread.Revision{{
				MessageID: reply.Message.ID, StripCalls: true,
				AppendText: fmt.Sprintf("[TOKEN BUDGET EXCEEDED] I stopped here: this run has used %d of its %d %s. "+
					"What stands above is what I know so far; send a message to go on.", use.used, use.limit, use.kind),
			}},
			Goto: step.GotoEnd, StopReason: thread.StopTokenCapped,
		}, nil
	case !t.state.Warned:
		t.state.Warned = true
		t.state.Due = fmt.Sprintf("[TOKEN BUDGET WARNING] This run has used %d of its %d %s (%d%%). Come to a conclusion: "+
			"do only what is still needed, then give your answer.", use.used, use.limit, use.kind, int(use.fraction()*100))
	}
	return Update{}, nil
}

// AfterRun counts what came after the last answer: sub-agents that a question
// was asked beside.
func (t *TokenBudget) AfterRun(_ workflow.Context, run *Run) (Update, error) {
	t.state.Last = tokensOf(run.Usage)
	return Update{}, nil
}

// account is one of the limits and what was used of it.
type account struct {
	kind        string
	used, limit int
}

func (a account) fraction() float64 {
	if a.limit == 0 {
		return 0
	}
	return float64(a.used) / float64(a.limit)
}

// fullest is the account that is nearest to its limit.
func (t *TokenBudget) fullest(u tokens) account {
	var most account
	for _, a := range []account{
		{"tokens", u.Total, t.rule.MaxTokens},
		{"input tokens", u.Input, t.rule.MaxInput},
		{"output tokens", u.Output, t.rule.MaxOutput},
	} {
		if a.limit > 0 && (most.limit == 0 || a.fraction() > most.fraction()) {
			most = a
		}
	}
	return most
}

// Save keeps the accounts.
func (t *TokenBudget) Save(workflow.Context) (json.RawMessage, error) {
	if t.state == (budgetState{}) {
		return nil, nil
	}
	return json.Marshal(t.state)
}

// Restore takes them back.
func (t *TokenBudget) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &t.state)
}
