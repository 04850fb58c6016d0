package agent

import "deerflow/internal/thread"

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
		d := m.Digest(0)
		if !d.UserText() || d.Empty {
			continue
		}
		text := Neutralize(cutRunes(m.Content.String(), e.Keep))
		m.Content = withText(m.Content, beginUserInput+"\n"+text+"\n"+endUserInput)
	}
	return messages
}

// cutRunes keeps the first n characters; n = 0 keeps all.
func cutRunes(s string, n int) string {
	if n <= 0 {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
