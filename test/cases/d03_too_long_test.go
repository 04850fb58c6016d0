package cases

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A provider finds a request too long that we count as fitting: the conversation
// is compacted and the call made once more, whatever the words of the refusal.
func TestD03TheProviderSaysTooLong(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]Reply{
		"code":    APIError(400, "context_length_exceeded", "This model's maximum context length is 100 tokens"),
		"words":   Error(400, `{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum","type":"invalid_request_error"}}`),
		"input":   Error(400, `{"error":{"message":"Input length 131073 exceeds the maximum length 131072","code":"InvalidParameter"}}`),
		"chinese": Error(400, `{"error":{"message":"输入内容过长，超过模型最大上下文长度","code":"1261"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewModel(t)
			m.On(asksForSummary).Always(Text("THE-SUMMARY"))
			m.On(func(r *Request) bool { return len(r.Messages) > 6 }).Always(refusal)
			m.Respond(func(r *Request) Reply { return Text(fmt.Sprintf("answer to %.12s", r.LastUser())) })
			p := StartDev(t, DevOptions{Config: ConfigFor(m)})
			id := newThread(t, p.API())
			converse(t, p.API(), id, "question 1", "question 2", "question 3", "question 4", "question 5")
			require.Len(t, m.RequestsTo(asksForSummary), 1)
			requests := m.RequestsTo(Not(asksForSummary))
			after := requests[len(requests)-2] // of question 4, the second try
			require.Contains(t, all(after), "THE-SUMMARY")
			require.Contains(t, all(after), "durable_context_data")
			require.Contains(t, after.LastUser(), "question 4")
			require.NotContains(t, all(after), "question 2")
			list := messages(t, p.API(), id)
			require.Len(t, list, 10, "the whole transcript stays listed: %q", shape(list))
		})
	}
}

// When it is too long even so, the user is told, and the thread can go on.
func TestD03StillTooLong(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On(asksForSummary).Always(Text("THE-SUMMARY"))
	var refused atomic.Int32
	m.On(LastUser("too much")).Respond(func(*Request) Reply {
		refused.Add(1)
		return APIError(400, "context_length_exceeded", "maximum context length exceeded")
	})
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	converse(t, p.API(), id, "one", "two")
	r := run(t, p.API(), id, "too much "+strings.Repeat("of it ", 1000))
	require.Equal(t, "error", r.Status)
	require.EqualValues(t, 2, refused.Load(), "one hard compaction, one more try")
	require.Contains(t, last(messages(t, p.API(), id)).Text(), "kit")
	converse(t, p.API(), id, "a short one")
	require.Equal(t, "fine", last(messages(t, p.API(), id)).Text())
}
