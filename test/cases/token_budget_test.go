package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A budget warns once, then ends the run with what there is; a safety stop says
// so in the run.
func TestRunsThatAreEnded(t *testing.T) {
	m := NewModel(t)
	list := func(id string, tokens int) Reply {
		return ToolCalls(ls(id, "/mnt/user-data/"+id)).With(WithUsage(tokens-10, 10))
	}
	m.On(AnyMessage("work for long")).Enqueue(list("a", 500_000), list("b", 350_000), list("c", 50_000), list("d", 200_000))
	m.On(LastUser("something bad")).Enqueue(ToolCalls(writeFile("w", "half.md", "cut")).With(WithFinish("moderated")))
	m.On(LastUser("something cut")).Enqueue(Text("a long answer that is cut by the out").With(WithFinish("length")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "token_budget: {enabled: true, max_tokens: 1000000}",
		"safety_finish_reason: {detectors: [{use: openai_compatible, config: {finish_reasons: [Moderated]}}]}")})
	api := p.API()
	id := newThread(t, api)

	r := run(t, api, id, "work for long")
	require.Equal(t, "success", r.Status)
	require.Equal(t, "token_capped", r.StopReason)
	end := last(messages(t, api, id))
	require.Contains(t, end.Text(), "[TOKEN BUDGET EXCEEDED]")
	require.Empty(t, end.ToolCalls)
	reqs := m.Requests()
	require.Len(t, reqs, 4)
	for i, req := range reqs {
		warned := req.Messages[len(req.Messages)-1]
		require.Equal(t, i == 2, AnyMessage("[TOKEN BUDGET WARNING]")(req), "request %d", i+1)
		if i == 2 {
			require.Equal(t, "user", warned.Role)
			require.Contains(t, warned.Text(), "850000 of its 1000000 tokens (85%)")
		}
	}

	r = run(t, api, id, "something bad")
	require.Equal(t, "success", r.Status)
	require.Equal(t, "safety_capped", r.StopReason)
	require.Contains(t, last(messages(t, api, id)).Text(), "ended this answer for safety")
	require.NoFileExists(t, userDir(p, id)+"/outputs/half.md")

	r = run(t, api, id, "something cut")
	require.Equal(t, "success", r.Status)
	require.Equal(t, "model_length_capped", r.StopReason)
	require.Equal(t, "a long answer that is cut by the out", last(messages(t, api, id)).Text())
	require.Equal(t, "success", run(t, api, id, "and on").Status, "the budget is a run's own")
}
