package cases

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A summary model that refuses, says nothing or calls a tool is replaced by the
// run's own; when that fails, too, the first words of the old messages stay. The
// run goes on, and the user is told.
func TestD04TheSummaryModelIsBroken(t *testing.T) {
	t.Parallel()
	refused := APIError(401, "invalid_api_key", "Incorrect API key provided")
	for name, tc := range map[string]struct{ other, own Reply }{
		"401":       {refused, Text("OWN-SUMMARY")},
		"empty":     {Text(""), Text("OWN-SUMMARY")},
		"tool call": {ToolCalls(call("c", "ls", map[string]any{"path": "/mnt/user-data"})), Text("OWN-SUMMARY")},
		"both":      {refused, Text("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := NewModel(t)
			other.Respond(func(*Request) Reply { return tc.other })
			m := NewModel(t)
			m.On(asksForSummary).Always(tc.own)
			m.Respond(func(*Request) Reply { return Text("fine") })
			config := strings.Replace(ConfigFor(m, summarization("{type: messages, value: 6}", "{type: messages, value: 2}", "  model_name: other")),
				"sandbox:\n", "  - {name: other, use: openai, model: other-model, api_key: k, base_url: "+other.URL()+"}\nsandbox:\n", 1)
			p := StartDev(t, DevOptions{Config: config})
			id := newThread(t, p.API())
			converse(t, p.API(), id, "MARK-ONE question", "two", "three")
			frames := streamed(t, p.API(), id, "four")
			require.NotEmpty(t, other.Requests())
			require.Contains(t, frames, "summarization_warning")
			require.Contains(t, frames, "model other wrote no summary")
			sent := m.RequestsTo(Not(asksForSummary))
			seen := all(sent[len(sent)-1])
			if name == "both" {
				require.Contains(t, frames, "Only the first words")
				require.Contains(t, seen, "No model could write a summary")
				require.Contains(t, seen, "MARK-ONE")
			} else {
				require.Contains(t, seen, "OWN-SUMMARY")
				require.NotContains(t, seen, "MARK-ONE")
			}
			require.Equal(t, "fine", last(messages(t, p.API(), id)).Text())
		})
	}
}

// streamed sends a text and gives all that the stream of the run shows.
func streamed(t *testing.T, api *API, id, text string) string {
	t.Helper()
	ctx := patient(t)
	s, err := api.StreamRun(ctx, id, SayWatched(text))
	require.NoError(t, err)
	frames, err := s.All(ctx)
	require.NoError(t, err)
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.Event + " " + f.Data + "\n")
	}
	return b.String()
}
