package agent

import (
	"fmt"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// KeySafety describes, on an answer, how a provider ended it for safety:
// detector, reason_field, reason_value and the calls that were dropped (B13).
const KeySafety = "safety_termination"

// StopForSafety judges an answer by finish reasons that an operator has named,
// beside those that every provider uses. Its calls may be half written: they are
// dropped, and the user is told. A text alone stays as it is (spec 4.34). It
// reports false for an answer that has ended in another way.
func StopForSafety(m *thread.Message, finish string, rule *SafetyRule) bool {
	if rule == nil || !slices.Contains(rule.Reasons, strings.ToLower(finish)) {
		return false
	}
	names := []string{}
	for i := range m.CallCount() {
		call, invalid, _ := m.CallAt(i)
		if invalid != nil {
			call.Name = invalid.Name
		}
		names = append(names, thread.Prefix(call.Name, thread.MaxDigestName))
	}
	notice := fmt.Sprintf("The provider ended this answer for safety (finish_reason: %s).", finish)
	switch {
	case len(names) > 0:
		notice += fmt.Sprintf(" The tool calls it had begun (%s) were not run.", strings.Join(names, ", "))
	case strings.TrimSpace(m.Content.String()) != "":
		return false
	}
	*m = thread.Revision{StripCalls: true, AppendText: notice, Kwargs: map[string]any{KeySafety: map[string]any{
		"detector": "configured", "reason_field": "finish_reason", "reason_value": finish,
		"suppressed_tool_call_count": len(names), "suppressed_tool_call_names": names,
	}}}.Apply(*m)
	return true
}
