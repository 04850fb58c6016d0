package chain

import (
	"strings"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// messagesOf are the messages of a request as they were sent.
func messagesOf(r *Request) []string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, mustJSON(m.Fields))
	}
	return out
}

// stored leaves out what stands behind the stored messages of a request:
// warnings, reminders and images, which are for that request alone.
func stored(r *Request) []string {
	n := len(r.Messages)
	for n > 0 && r.Messages[n-1].Role == "user" && !strings.Contains(r.Messages[n-1].Text(), "BEGIN USER INPUT") {
		n--
	}
	return messagesOf(r)[:n]
}

// prefixes demands that the system message and the tools' schemas never change
// by a byte, and that each request begins with what the one before it had, so
// that a provider can cache it, unless there was a compaction between them.
func (w *world) prefixes() {
	t := w.t
	all := w.m.Requests()
	var before *Request
	compacted := false
	compared := 0
	for _, r := range all {
		switch {
		case summarizes(r):
			compacted = true
			continue
		case titles(r):
			continue
		}
		if before != nil {
			require.Equal(t, string(before.Params["tools"]), string(r.Params["tools"]), "tools of request %d", r.N)
			require.Equal(t, messagesOf(before)[0], messagesOf(r)[0], "system message of request %d", r.N)
			if !compacted {
				old := stored(before)
				now := messagesOf(r)
				require.GreaterOrEqual(t, len(now), len(old), "request %d", r.N)
				require.Equal(t, old, now[:len(old)], "request %d begins as the one before", r.N)
				compared++
			}
		}
		before, compacted = r, false
	}
	require.Greater(t, compared, 50)
}

// plansInView demands that the model sees its plan in every request once there is
// one, also in the first after a compaction. A request that is made again because
// it was too long is left out: it gets nothing that makes it longer.
func (w *world) plansInView() {
	t := w.t
	const reminder = "Your plan, which has gone out of view"
	reminded := 0
	for _, r := range w.m.RequestsTo(lead)[1:] {
		if r.N == w.sent("toolong")[2].N {
			continue
		}
		seen := AnyMessage(reminder)(r)
		if seen {
			reminded++
		}
		for _, m := range r.Messages {
			for _, c := range m.ToolCalls {
				seen = seen || c.Name == "write_todos"
			}
		}
		require.True(t, seen, "the plan in request %d", r.N)
	}
	require.Positive(t, reminded)
}

// transcript demands that everything is listed once, in order, compacted or not.
func (w *world) transcript() {
	t := w.t
	ids, results := map[string]bool{}, map[string]bool{}
	var questions []string
	for _, m := range messages(t, w.api(), w.id) {
		require.NotEmpty(t, m.ID)
		require.False(t, ids[m.ID], "message %s is there twice", m.ID)
		ids[m.ID] = true
		switch {
		case m.Type == "tool":
			require.False(t, results[m.ToolCallID], "result of %s is there twice", m.ToolCallID)
			results[m.ToolCallID] = true
		case m.Type == "human" && !strings.HasPrefix(m.Text(), "<system_reminder>"):
			questions = append(questions, m.Text())
		}
	}
	require.Equal(t, w.questions, questions)
	for _, m := range messages(t, w.api(), w.id) {
		for _, c := range m.ToolCalls {
			require.True(t, results[c.ID], "call %s has no result", c.ID)
		}
	}
	for play, turns := range map[string]int{"plan": 4, "look": 2, "large": 3, "loop": 3, "budget": 3, "safety": 1, "ask": 3, "toolong": 2, "long": longTurns} {
		for turn := range turns {
			id := play + "_" + mustJSON(turn) + "_0"
			require.True(t, results[id], "%s is missing", id)
		}
	}
}
