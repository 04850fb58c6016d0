package agent

import "slices"

// Decision is what a guardrail says about a tool call.
type Decision struct {
	Allow  bool   `json:"allow"`
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Codes of decisions. They are DeerFlow's, from the namespace of the open agent
// passport.
const (
	CodeAllowed    = "oap.allowed"
	CodeNotAllowed = "oap.tool_not_allowed"
	CodeDenied     = "oap.denied" // a refusal without a code of its own
	CodeEvaluator  = "oap.evaluator_error"
)

// ProviderAllowlist is the guardrail that is data alone: lists of tools.
const ProviderAllowlist = "allowlist"

// Decide is the decision of the lists. Names are exact, and a denial wins. An
// empty list of allowed tools allows none.
func (r *GuardrailRule) Decide(tool string) Decision {
	switch {
	case slices.Contains(r.Denied, tool):
		return Decision{Code: CodeNotAllowed, Reason: "the tool is on the list of denied tools"}
	case !r.AllowAll && !slices.Contains(r.Allowed, tool):
		return Decision{Code: CodeNotAllowed, Reason: "the tool is not on the list of allowed tools"}
	}
	return Decision{Allow: true, Code: CodeAllowed}
}
