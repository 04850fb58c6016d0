package agent

import (
	"strings"

	"deerflow/internal/thread"
)

// coalesce joins the system messages of a transcript, an import may bring some,
// into one that stands first: strict providers take no other place (A21).
func coalesce(messages []thread.Message) []thread.Message {
	var texts []string
	var first *thread.Message
	rest := make([]thread.Message, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		if m.Role != thread.RoleSystem {
			rest = append(rest, *m)
			continue
		}
		if first == nil {
			first = m
		}
		if text := m.Content.String(); text != "" {
			texts = append(texts, text)
		}
	}
	if first == nil {
		return messages
	}
	joined := *first
	joined.Content = thread.Text(strings.Join(texts, "\n\n"))
	return append([]thread.Message{joined}, rest...)
}
