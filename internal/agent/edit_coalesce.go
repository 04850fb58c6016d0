package agent

import (
	"maps"
	"strings"

	"deerflow/internal/thread"
)

// coalesce joins the system messages of a transcript, an import may bring some,
// into one that stands first: strict providers take no other place (A21). It has
// the id of the first and the keys of all, of which a later one wins.
func coalesce(messages []thread.Message) []thread.Message {
	var texts []string
	var joined *thread.Message
	rest := make([]thread.Message, 0, len(messages))
	for i := range messages {
		m := messages[i]
		if m.Role != thread.RoleSystem {
			rest = append(rest, m)
			continue
		}
		if joined == nil {
			joined = &m
			joined.AdditionalKwargs = maps.Clone(m.AdditionalKwargs)
		} else {
			for key, value := range m.AdditionalKwargs {
				joined.SetKwarg(key, value)
			}
		}
		if text := m.Content.String(); text != "" {
			texts = append(texts, text)
		}
	}
	if joined == nil {
		return messages
	}
	joined.Content = thread.Text(strings.Join(texts, "\n\n"))
	return append([]thread.Message{*joined}, rest...)
}
