package testkit

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chunk is a stream event as a client reads it.
type chunk struct {
	ID      string
	Object  string
	Model   string
	Choices []struct {
		Index  int
		Delta  map[string]any
		Finish *string `json:"finish_reason"`
	}
	Usage *usage
}

// stream sends the request and returns the data of the events.
func stream(t *testing.T, reply Reply, request string) []string {
	t.Helper()
	m := NewModel(t)
	m.Enqueue(reply)
	res := post(testContext(t), t, m, request)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	var events []string
	reader := NewFrameReader(res.Body)
	for {
		frame, err := reader.Read()
		if err != nil {
			return events
		}
		events = append(events, frame.Data)
	}
}

func decode(t *testing.T, events []string) []chunk {
	t.Helper()
	var chunks []chunk
	for _, event := range events {
		if event == "[DONE]" {
			continue
		}
		var c chunk
		require.NoError(t, json.Unmarshal([]byte(event), &c), event)
		require.Equal(t, []string{"chatcmpl-1", "chat.completion.chunk", "m"}, []string{c.ID, c.Object, c.Model})
		chunks = append(chunks, c)
	}
	return chunks
}

// deltas returns the deltas as JSON, and the finish reasons where there is one.
func deltas(t *testing.T, chunks []chunk) []string {
	t.Helper()
	var list []string
	for _, c := range chunks {
		require.Len(t, c.Choices, 1)
		text, err := json.Marshal(c.Choices[0].Delta)
		require.NoError(t, err)
		if c.Choices[0].Finish != nil {
			text = append(text, " "+*c.Choices[0].Finish...)
		}
		list = append(list, string(text))
	}
	return list
}

const withUsage = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`

func TestTextStream(t *testing.T) {
	t.Parallel()
	events := stream(t, Text("hello", WithChunks(2), WithReasoning("hm"), WithUsage(3, 4)), streamed)
	require.Equal(t, "[DONE]", events[len(events)-1])
	require.Equal(t, []string{
		`{"content":"","role":"assistant"}`,
		`{"reasoning_content":"h"}`,
		`{"reasoning_content":"m"}`,
		`{"content":"he"}`,
		`{"content":"llo"}`,
		`{} stop`,
	}, deltas(t, decode(t, events)))
	require.NotContains(t, strings.Join(events, ""), "usage", "it was not asked for")
}

func TestUsageChunk(t *testing.T) {
	t.Parallel()
	events := stream(t, Text("hello", WithUsage(3, 4)), withUsage)
	require.Equal(t, "[DONE]", events[len(events)-1])
	chunks := decode(t, events)
	last := chunks[len(chunks)-1]
	require.Empty(t, last.Choices)
	require.Contains(t, events[len(events)-2], `"choices":[]`)
	require.Equal(t, &usage{3, 4, 7}, last.Usage)
	for i, c := range chunks[:len(chunks)-1] {
		require.Nil(t, c.Usage)
		require.Contains(t, events[i], `"usage":null`)
	}

	chunks = decode(t, stream(t, Text("abcdefgh"), withUsage))
	require.Equal(t, &usage{5, 2, 7}, chunks[len(chunks)-1].Usage, "estimated")
}

func TestToolCallsStream(t *testing.T) {
	t.Parallel()
	reply := Text("Look", WithCalls(
		Call{ID: "x", Name: "search", Args: map[string]any{"q": 1}},
		Call{Name: "ls"},
		Call{Name: "raw", Args: `{"cut`, NoID: true, NoIndex: true},
	), WithChunks(2))
	require.Equal(t, []string{
		`{"content":"","role":"assistant"}`,
		`{"content":"Lo"}`,
		`{"content":"ok"}`,
		`{"tool_calls":[{"function":{"arguments":"","name":"search"},"id":"x","index":0,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\"q"},"index":0}]}`,
		`{"tool_calls":[{"function":{"arguments":"\":1}"},"index":0}]}`,
		`{"tool_calls":[{"function":{"arguments":"","name":"ls"},"id":"call_1_1","index":1,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{"},"index":1}]}`,
		`{"tool_calls":[{"function":{"arguments":"}"},"index":1}]}`,
		`{"tool_calls":[{"function":{"arguments":"","name":"raw"},"id":null,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\""}}]}`,
		`{"tool_calls":[{"function":{"arguments":"cut"}}]}`,
		`{} tool_calls`,
	}, deltas(t, decode(t, stream(t, reply, streamed))))
}

func TestFinishAndDoneCanBeLeftOut(t *testing.T) {
	t.Parallel()
	events := stream(t, Text("x", WithFinish(""), WithoutDone()), streamed)
	require.Len(t, events, 2)
	require.NotContains(t, events[1], `"finish_reason":"`)
	require.Equal(t, `{} length`, deltas(t, decode(t, stream(t, Text("x", WithFinish("length")), streamed)))[2])
	require.JSONEq(t, `{"reasoning":"hm"}`, deltas(t, decode(t, stream(t, Text("x", WithReasoningField("reasoning", "hm")), streamed)))[1])
}

func TestStepsRunInPlace(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(what string) Step { return Do(func() { order = append(order, what) }) }
	reply := Text("abcd", WithChunks(4), At(9, note("late")), At(0, note("start")), At(2, note("two"), Comment("ping"), note("two again"))).
		Before(note("before"))
	require.Len(t, stream(t, reply, streamed), 7)
	require.Equal(t, []string{"before", "start", "two", "two again", "late"}, order)
}

func TestCompletionThatIsNotStreamed(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	held := false
	m.Enqueue(
		Text("hello", WithReasoning("hm"), WithUsage(3, 4), WithChunks(2), At(1, Do(func() { held = true }))),
		ToolCalls(Call{ID: "x", Name: "ls", Args: `{}`}),
	)
	ask := func() (message map[string]any, finish string, all map[string]any) {
		res := post(testContext(t), t, m, asking("x"))
		require.Equal(t, "application/json", res.Header.Get("Content-Type"))
		require.NoError(t, json.Unmarshal([]byte(read(t, res)), &all))
		choice := all["choices"].([]any)[0].(map[string]any)
		return choice["message"].(map[string]any), choice["finish_reason"].(string), all
	}
	message, finish, all := ask()
	require.Equal(t, map[string]any{"role": "assistant", "content": "hello", "reasoning_content": "hm"}, message)
	require.Equal(t, "stop", finish)
	require.Equal(t, "chat.completion", all["object"])
	require.Equal(t, map[string]any{"prompt_tokens": 3.0, "completion_tokens": 4.0, "total_tokens": 7.0}, all["usage"])
	require.True(t, held)

	message, finish, _ = ask()
	require.Equal(t, "tool_calls", finish)
	require.Nil(t, message["content"])
	require.Equal(t, []any{map[string]any{
		"id": "x", "type": "function",
		"function": map[string]any{"name": "ls", "arguments": "{}"},
	}}, message["tool_calls"])
}

func TestErrors(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.Enqueue(
		APIError(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down", "Retry-After: 3", "retry-after-ms:10"),
		Error(http.StatusBadGateway, "<html>bad gateway</html>"),
		Error(http.StatusServiceUnavailable, "busy"),
		APIError(http.StatusUnauthorized, "", "no key"),
	)
	res := post(testContext(t), t, m, streamed)
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Equal(t, []string{"3", "10"}, []string{res.Header.Get("Retry-After"), res.Header.Get("Retry-After-Ms")})
	require.JSONEq(t, `{"error":{"message":"slow down","type":"invalid_request_error","param":null,"code":"rate_limit_exceeded"}}`, read(t, res))
	res = post(testContext(t), t, m, streamed)
	require.Equal(t, "text/html", res.Header.Get("Content-Type"))
	require.Equal(t, "<html>bad gateway</html>", read(t, res))
	require.Equal(t, "text/plain", post(testContext(t), t, m, streamed).Header.Get("Content-Type"))
	require.Contains(t, read(t, post(testContext(t), t, m, streamed)), `"code":null`)
}

func TestRawKeepsBytesAndBoundaries(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	gate := NewGate()
	// A three-byte character, cut after its second byte (A07).
	m.Enqueue(Steps(Send("data: \xe4\xbd"), Hold(gate), Send("\xa0\r\n\r\n"), Delta(`{"content":"x"}`, "stop"), Write([]byte("a")), Flush(), Done()))
	res := post(testContext(t), t, m, streamed)
	first := make([]byte, 100)
	n, err := res.Body.Read(first)
	require.NoError(t, err)
	require.Equal(t, "data: \xe4\xbd", string(first[:n]))
	gate.Release()
	rest := read(t, res)
	require.True(t, strings.HasPrefix(rest, "\xa0\r\n\r\ndata: {\"id\":"), rest)
	require.True(t, strings.HasSuffix(rest, "\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\nadata: [DONE]\n\n"), rest)

	m.Enqueue(Raw("ab", "c"), Steps(Event("one\ntwo"), Comment("ping")))
	require.Equal(t, "abc", read(t, post(testContext(t), t, m, streamed)))
	require.Equal(t, "data: one\ndata: two\n\n: ping\n\n", read(t, post(testContext(t), t, m, streamed)))
}

func TestReplyIsAValue(t *testing.T) {
	t.Parallel()
	base := Text("a", At(1, Do(func() {})))
	longer := base.With(WithCalls(Call{Name: "ls"}), At(1, Do(func() {})))
	require.Empty(t, base.completion.calls)
	require.Len(t, base.completion.at[1], 1)
	require.Len(t, longer.completion.at[1], 2)
	require.Panics(t, func() { Raw("x").With(WithChunks(2)) })
	require.Panics(t, func() { ToolCalls(Call{Name: "ls", Args: func() {}}) })
	require.NotPanics(t, func() { Raw("x").With() })
}

func TestSplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(-1, 10).Draw(t, "n")
		pieces := split(text, n)
		require.Equal(t, text, strings.Join(pieces, ""))
		require.LessOrEqual(t, len(pieces), max(n, 1))
		for _, piece := range pieces {
			require.NotEmpty(t, piece)
		}
	})
}
