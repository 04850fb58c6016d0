package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// leastLine is how many characters of a message a record shows at least.
const leastLine = 80

// record writes messages as lines "who: what", in about that many tokens: long
// ones are shortened, and when there are too many even so, older ones are left
// out. escape is applied before anything is measured.
func record(messages []thread.Message, tokens int, escape func(string) string) string {
	var lines []string
	for i := range messages {
		if line := recordLine(&messages[i]); line != "" {
			lines = append(lines, escape(line))
		}
	}
	if len(lines) == 0 {
		return "(nothing was said)"
	}
	sizes := make([]int, len(lines))
	for i, line := range lines {
		sizes[i] = thread.EstimateTokens(line) + 1
	}
	limit, total := fitLimit(slices.Clone(sizes), tokens), 0
	for i, line := range lines {
		if sizes[i] > limit {
			lines[i] = bounded(line, max(utf8.RuneCountInString(line)*limit/sizes[i], leastLine))
			sizes[i] = thread.EstimateTokens(lines[i]) + 1
		}
		total += sizes[i]
	}
	return strings.Join(withoutMiddle(lines, sizes, total-tokens), "\n")
}

// withoutMiddle drops lines that have excess tokens together: behind the first
// quarter, and when that is not enough, from it.
func withoutMiddle(lines []string, sizes []int, excess int) []string {
	from := len(lines) / 4
	to := from
	for ; excess > 0 && to < len(lines)-1; to++ {
		excess -= sizes[to]
	}
	for ; excess > 0 && from > 0; from-- {
		excess -= sizes[from-1]
	}
	if to == from {
		return lines
	}
	kept := append(slices.Clone(lines[:from]), fmt.Sprintf("[%d messages are left out here]", to-from))
	return append(kept, lines[to:]...)
}

// recordLine is a message as a record shows it; "" for one of the framework.
func recordLine(m *thread.Message) string {
	d := m.Digest(0)
	text := strings.TrimSpace(m.Content.String())
	switch m.Role {
	case thread.RoleHuman:
		if !d.UserText() {
			return ""
		}
		return "User: " + text
	case thread.RoleTool:
		if m.Status == thread.ToolError {
			return fmt.Sprintf("Result of %s (it failed): %s", m.Name, text)
		}
		return fmt.Sprintf("Result of %s: %s", m.Name, text)
	case thread.RoleAI:
		parts := make([]string, 0, len(m.ToolCalls)+1)
		if text != "" {
			parts = append(parts, text)
		}
		for _, c := range m.ToolCalls {
			parts = append(parts, fmt.Sprintf("[calls %s %s]", c.Name, c.Args))
		}
		if len(parts) == 0 {
			return ""
		}
		return "Assistant: " + strings.Join(parts, " ")
	case thread.RoleSystem:
	}
	return ""
}
