package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A question, and the result of a tool, that are greater than the whole window
// leave the thread usable, and every request fits (V10).
func TestD01OneGiantMessage(t *testing.T) {
	m := NewModel(t, WithWindow(32_000))
	m.On(asksForSummary).Always(Text("older things"))
	m.On(LastUser("read the big file")).Respond(ByTurn(
		ToolCalls(call("c1", "bash", map[string]any{"description": "read", "command": "head -c 3000000 /dev/zero | tr '\\0' 'x'"})),
		Text("it is full of x"),
	))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ofModel(ConfigFor(m), "context_window: 32000", "max_tokens: 4096")})
	id := newThread(t, p.API())
	giant := "GIANT-HEAD " + strings.Repeat("words of a pasted book ", 20_000) + " GIANT-TAIL"
	converse(t, p.API(), id, giant, "read the big file", "and now?", "still there?")
	for _, r := range m.RequestsTo(Not(asksForSummary)) {
		if text := all(r); strings.Contains(text, "GIANT") {
			require.Contains(t, text, "GIANT-HEAD")
			require.Contains(t, text, "GIANT-TAIL")
			require.Contains(t, text, "left out here")
		}
	}
	require.Contains(t, mustJSON(messages(t, p.API(), id)), giant[:4000], "the transcript keeps the whole text")
}

// Requests fit for small and large windows, with what is really sent counted:
// schemas and the room for the answer, at a trigger that alone leaves none (D02).
func TestD02TheWindowHasRoomForTheAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		window, output int
		trigger        string
	}{
		{8192, 4096, "{type: fraction, value: 0.99}"},
		{32_768, 8192, "{type: fraction, value: 0.8}"},
		{65_536, 8192, "{type: tokens, value: 64000}"},
	} {
		t.Run(fmt.Sprint(tc.window), func(t *testing.T) {
			t.Parallel()
			m := NewModel(t, WithWindow(tc.window))
			m.On(asksForSummary).Always(Text("THE-SUMMARY of what was said"))
			size := tc.window / 5
			m.Respond(func(*Request) Reply { return Text(strings.Repeat("ans ", size/2)) })
			p := StartDev(t, DevOptions{Config: ofModel(ConfigFor(m, summarization(tc.trigger, "{type: messages, value: 4}")),
				fmt.Sprintf("context_window: %d", tc.window), fmt.Sprintf("max_tokens: %d", tc.output))})
			id := newThread(t, p.API())
			for i := range 8 {
				converse(t, p.API(), id, fmt.Sprintf("question %d %s", i, strings.Repeat("text ", size/2)))
			}
			require.NotEmpty(t, m.RequestsTo(asksForSummary))
			requests := m.RequestsTo(Not(asksForSummary))
			require.Contains(t, all(requests[len(requests)-1]), "THE-SUMMARY")
			require.Contains(t, requests[len(requests)-1].LastUser(), "question 7")
		})
	}
}
