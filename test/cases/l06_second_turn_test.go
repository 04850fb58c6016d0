package cases

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// L06: the second question is answered, and not the first again, also when
// midnight lies between them; the date is told once a day, ids stay what they
// were. A21: the prompt, and all that was said before, is the same in each
// request, byte for byte, so a provider can keep what it has read.
func TestL06TheSecondTurnAnswersTheSecondQuestion(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	// Between these two places it is always another day.
	const ahead, behind = "Pacific/Kiritimati", "Pacific/Pago_Pago"
	asked := []struct{ id, text, zone string }{
		{"x", "first?", ahead}, {"x__user", "second?", ahead}, {"x__memory", "third?", behind}, {"y", "fourth?", behind}, {"z", "fifth?", "Nowhere/Else"},
	}
	for _, q := range asked {
		request := sayAs(q.id, q.text)
		request.Context = map[string]any{"timezone": q.zone}
		require.Equal(t, "success", do(t, api, id, request).Status)
	}

	list := messages(t, api, id)
	require.Len(t, list, 2*len(asked))
	requests := m.Requests()
	require.Len(t, requests, len(asked))
	for i, q := range asked {
		require.Equal(t, q.id, list[2*i].ID)
		require.Equal(t, q.text, list[2*i].Text(), "what is stored is what was said")
		require.Equal(t, "answer to "+q.text, list[2*i+1].Text())
		require.Equal(t, q.text, requests[i].LastUser())
	}
	tells := func(i int) bool {
		last := requests[i].Messages[len(requests[i].Messages)-1].Text()
		return strings.HasPrefix(last, "<system-reminder>\n<current_date>20")
	}
	require.True(t, tells(0), "a thread begins with the date")
	require.False(t, tells(1), "the same day")
	require.True(t, tells(2), "another day")
	require.False(t, tells(3), "the same day")
	require.Equal(t, "system", requests[0].Messages[0].Role)
	require.Contains(t, requests[0].System(), "<role>")
	require.NotContains(t, requests[0].System(), "current_date>")

	// Each request begins with all of the one before.
	for i := 1; i < len(requests); i++ {
		before, now := sent(t, requests[i-1]), sent(t, requests[i])
		require.True(t, strings.HasPrefix(now, strings.TrimSuffix(before, "]")), "request %d does not begin as request %d", i, i-1)
	}
}

// sent is the list of messages of a request as it was on the wire.
func sent(t *testing.T, r *Request) string {
	t.Helper()
	var body struct {
		Messages json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(r.Body, &body))
	return string(body.Messages)
}

// A21: system messages that a client sends are one with the prompt, first.
func TestA21SystemMessagesOfAClient(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(*Request) Reply { return Text("yes") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	request := SayWatched("")
	request.Input = map[string]any{"messages": []any{
		map[string]any{"role": "system", "content": "Be brief."},
		map[string]any{"role": "user", "content": "one"},
		map[string]any{"role": "system", "content": "Be kind."},
	}}
	require.Equal(t, "success", do(t, api, id, request).Status)
	require.Equal(t, "success", run(t, api, id, "two").Status)
	for _, r := range m.Requests() {
		require.True(t, strings.HasSuffix(r.System(), "</critical_reminders>\n\nBe brief.\n\nBe kind."), r.System())
		for _, message := range r.Messages[1:] {
			require.NotEqual(t, "system", message.Role)
		}
	}
}
