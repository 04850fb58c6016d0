package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// Compactions before the first model call and in the middle of 20 tool steps of
// one question (D09): the question stays word for word, the last among what
// users said, and the model never sees half of a call.
func TestD06TheCurrentQuestionStays(t *testing.T) {
	m := NewModel(t)
	m.On(asksForSummary).Respond(func(r *Request) Reply {
		require.NotContains(t, all(r), "THE-QUESTION")
		return Text("SUMMARY-WORDS")
	})
	const steps = 20
	question := "THE-QUESTION: what is in the " + strings.Repeat("very ", 20) + "long list?"
	m.On(AnyMessage("THE-QUESTION")).Respond(func(r *Request) Reply {
		n := len(m.RequestsTo(func(r *Request) bool { return !asksForSummary(r) && strings.Contains(all(r), "THE-QUESTION") }))
		if n > steps {
			return Text("the answer")
		}
		return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/%d", n)), ls("", fmt.Sprintf("/mnt/user-data/other/%d", n)))
	})
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, summarization("{type: messages, value: 9}", "{type: messages, value: 3}"))})
	id := newThread(t, p.API())
	converse(t, p.API(), id, "one", "two", "three", "four")
	shown := streamed(t, p.API(), id, question)
	require.NotContains(t, shown, "SUMMARY-WORDS", "the summary is not for the user (D10)")
	require.Contains(t, shown, "DeerFlowSummarizationMiddleware.before_model")
	require.GreaterOrEqual(t, len(m.RequestsTo(asksForSummary)), 4, "it is looked at before every call")
	for _, r := range m.RequestsTo(AnyMessage("THE-QUESTION")) {
		said := userTexts(r)
		if strings.Contains(said[len(said)-1], "LOOP DETECTED") {
			continue // a warning of the framework
		}
		require.Contains(t, said[len(said)-1], question)
	}
	list := messages(t, p.API(), id)
	require.Equal(t, "the answer", last(list).Text())
	require.Len(t, list, 8+1+3*steps+1)
	require.NotContains(t, mustJSON(list), "SUMMARY-WORDS")
	history, err := p.API().History(patient(t), id, 100)
	require.NoError(t, err)
	require.NotContains(t, mustJSON(history), "SUMMARY-WORDS")
}
