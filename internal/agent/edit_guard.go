package agent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// The lines between which the text of a user stands.
const (
	beginUserInput = "--- BEGIN USER INPUT ---"
	endUserInput   = "--- END USER INPUT ---"
)

// guard escapes framework tags in what users say, and shows where it begins and
// ends. All user messages are treated alike in every request, so that the prefix
// of a request stays the same from turn to turn.
func (e *Edit) guard(messages []thread.Message) []thread.Message {
	for i := range messages {
		m := &messages[i]
		if text := m.Content.String(); m.FromUser() && strings.TrimSpace(text) != "" {
			m.Content = withText(m.Content, e.guarded(text))
		}
	}
	return messages
}

// guarded is a user's text as the model reads it. A text that comes with the
// boundary lines already gets no second pair; what stands between them is no more
// trusted for it.
func (e *Edit) guarded(text string) string {
	if inner, ok := strings.CutPrefix(text, beginUserInput+"\n"); ok {
		if inner, ok = strings.CutSuffix(inner, "\n"+endUserInput); ok {
			text = inner
		}
	}
	return beginUserInput + "\n" + Neutralize(cutRunes(text, e.Keep)) + "\n" + endUserInput
}

// cutRunes keeps the first n characters and says how many it left out; n = 0
// keeps all.
func cutRunes(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	kept := 0
	for i := range s {
		if kept == n {
			return s[:i] + fmt.Sprintf("\n[%d more characters of this message are not shown]", utf8.RuneCountInString(s[i:]))
		}
		kept++
	}
	return s
}
