package model

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestA01CutStreamIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"between events":      said("Partial ans"),
		"inside a line":       said("Partial ans") + `data: {"choices":[{"delta":{"content":"we`,
		"inside an event":     said("Partial ans") + "data: {\"choices\":[\n",
		"inside a call":       piece(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{"}}]}`),
		"inside whole JSON":   `{"choices":[{"message":{"content":"Partial ans`,
		"nothing at all":      "",
		"only pings":          ": ping\n\n: ping\n\n",
		"only blanks":         " \n\n ",
		"only a mark of UTF8": "\xEF\xBB\xBF",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, streamed(t, raw).err)
			require.Equal(t, ClassCutStream, e.Class)
			require.True(t, e.Retryable)
			require.Zero(t, e.MaxAttempts, "as often as the policy allows")
		})
	}
	t.Run("only the end mark", func(t *testing.T) {
		t.Parallel()
		e := failure(t, streamed(t, done).err)
		require.Equal(t, ClassTransient, e.Class)
		require.True(t, e.Retryable)
	})
}

// Some providers write a reason into every chunk. Then a reason is no end: only
// the end mark, or a body that ends in good order behind one.
func TestA01AReasonInEveryChunk(t *testing.T) {
	t.Parallel()
	both := func(text string) string {
		return data(`{"choices":[{"delta":{"content":"` + text + `"},"finish_reason":"stop"}]}`)
	}
	for name, c := range map[string]struct {
		raw   string
		whole bool
	}{
		"in good order":            {both("Whole ") + both("answer"), true},
		"with the mark":            {both("Whole ") + both("answer") + done, true},
		"mark, text behind reason": {said("Whole ") + ended("stop") + said("answer") + done, true},
		"usage behind the reason":  {both("Whole answer") + data(`{"choices":[{"delta":{"content":"","tool_calls":[{"index":0,"function":{}}]}}],"usage":{"total_tokens":7}}`), true},
		"cut inside an event":      {both("Whole ") + both("ans") + `data: {"choices":[{"delta":{"content":"wer"}`, false},
		"cut behind such a text":   {said("Whole ") + ended("stop") + said("ans"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, c.raw)
			if c.whole {
				require.NoError(t, h.err)
				require.Equal(t, "Whole answer", h.text())
				return
			}
			e := failure(t, h.err)
			require.Equal(t, ClassCutStream, e.Class)
			require.True(t, e.Retryable)
		})
	}
}

func TestA01AnEndedAnswerIsComplete(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"reason and mark":                said("Whole answer") + ended("stop") + done,
		"reason alone":                   said("Whole answer") + ended("stop"),
		"mark alone":                     said("Whole answer") + done,
		"mark without a newline":         said("Whole answer") + "data: [DONE]",
		"reason in the last piece":       data(`{"choices":[{"delta":{"content":"Whole answer"},"finish_reason":"stop"}]}`),
		"reason, then a broken line":     said("Whole answer") + ended("stop") + `data: {"choi`,
		"last event without a blank":     said("Whole answer") + strings.TrimRight(ended("stop"), "\n"),
		"reason repeated in every piece": data(`{"choices":[{"delta":{"content":"Whole "},"finish_reason":""}]}`) + said("answer") + ended("stop"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, raw)
			require.NoError(t, h.err)
			require.Equal(t, "Whole answer", h.resp.Message.Content.String())
			require.Equal(t, "Whole answer", h.text())
			require.Equal(t, "stop", h.resp.FinishReason)
			require.Equal(t, thread.RoleAI, h.resp.Message.Role)
			require.Empty(t, h.resp.Message.ID)
			require.Equal(t, "stop", h.resp.Message.ResponseMetadata["finish_reason"])
		})
	}
}

func TestA02ErrorInsideTheStream(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, raw string
		class     Class
		text      string
		retryable bool
		attempts  int
	}{
		{"a", data(`{"choices":[],"error":{"message":"upstream down","code":502}}`), ClassTransient, "upstream down", true, 0},
		{"b", "event: error\n" + data(`{"type":"overloaded_error"}`), ClassBusy, "", true, 0},
		{"b with text", "event: error\n" + data(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), ClassBusy, "Overloaded", true, 0},
		{"b plain", "event: error\n" + data(`out of memory`), ClassGeneric, "out of memory", true, 2},
		{"c", data(`{"error":"boom"}`), ClassGeneric, "boom", true, 2},
		{"d", said("some text") + data(`{"error":{"message":"Server is busy"}}`), ClassBusy, "Server is busy", true, 0},
		{"quota", said("x") + data(`{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), ClassQuota, "You exceeded your current quota", false, 0},
		{"auth", data(`{"error":{"message":"Invalid API key","code":401}}`), ClassAuth, "Invalid API key", false, 0},
		{"in a choice", data(`{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"peer reset"}}]}`), ClassTransient, "peer reset", true, 0},
		{"bare line", said("x") + "{\"error\":{\"message\":\"gateway went away\"}}\n", ClassTransient, "gateway went away", true, 0},
		{"vllm", data(`{"object":"error","message":"engine died","code":500}`), ClassTransient, "engine died", true, 0},
		{"detail", data(`{"detail":"something odd"}`), ClassGeneric, "something odd", true, 2},
		{"base_resp", data(`{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`), ClassQuota, "insufficient balance", false, 0},
		{"whole JSON", `{"error":{"message":"try again later"}}`, ClassBusy, "try again later", true, 0},
		{"list", `[{"error":{"code":503,"message":"The model is overloaded."}}]`, ClassTransient, "The model is overloaded.", true, 0},
		{"too long", data(`{"error":{"message":"This model's maximum context length is 8192 tokens"}}`), ClassContextLength, "maximum context length", false, 0},
		{"after the reason", said("x") + ended("stop") + data(`{"error":{"message":"upstream down"}}`), ClassTransient, "upstream down", true, 0},
		{"broken reason", said("x") + ended("network_error") + done, ClassTransient, "network_error", true, 0},
		{"out of resources", said("x") + ended("insufficient_system_resource") + done, ClassBusy, "ran out of resources", true, 0},
		{"not JSON", said("x") + data("Internal Server Error"), ClassTransient, "Internal Server Error", true, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, streamed(t, c.raw).err)
			require.Equal(t, c.class, e.Class, e.Error())
			require.Contains(t, e.Error(), c.text)
			require.Equal(t, c.retryable, e.Retryable)
			require.Equal(t, c.attempts, e.MaxAttempts)
			require.Contains(t, e.Error(), "big")
		})
	}
}

func TestErrorFieldsThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, none := range []string{`null`, `""`, `{}`, `false`} {
		h := streamed(t, data(`{"error":`+none+`,"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`))
		require.NoError(t, h.err, none)
		require.Equal(t, "fine", h.text())
	}
}

func TestA04PingsCostNothing(t *testing.T) {
	t.Parallel()
	h := streamed(t, strings.Repeat(": ping\n\n", 400)+said("late")+strings.Repeat("\n\n: x\n", 400)+ended("stop")+done)
	require.NoError(t, h.err)
	require.Equal(t, "late", h.text())
}

func TestA05LegalStreams(t *testing.T) {
	t.Parallel()
	whole := said("a") + said("b") + ended("stop") + done
	for name, raw := range map[string]string{
		"data with nothing":      "data:\n\n" + "data: \n\n" + whole,
		"object over two lines":  "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"ab\"}}]}\n\n" + ended("stop") + done,
		"retry, id and event":    "retry: 3000\n\n" + "id: 1\nevent: message\n" + whole,
		"byte order mark":        "\xEF\xBB\xBF" + whole,
		"CR LF":                  strings.ReplaceAll(whole, "\n", "\r\n"),
		"CR":                     strings.ReplaceAll(whole, "\n", "\r"),
		"no space":               strings.ReplaceAll(whole, "data: ", "data:"),
		"no blank lines":         strings.ReplaceAll(whole, "\n\n", "\n"),
		"comment inside":         strings.Replace(whole, "\n\n", "\n: ping\n\n", 1),
		"field without a colon":  "nonsense\n\n" + whole,
		"line of 2 MB":           ": " + strings.Repeat("x", 2<<20) + "\n\n" + whole,
		"lines of JSON":          strings.ReplaceAll(strings.ReplaceAll(said("a")+said("b")+ended("stop"), "data: ", ""), "\n\n", "\n"),
		"JSON without newlines":  strings.ReplaceAll(strings.ReplaceAll(said("a")+said("b")+ended("stop"), "data: ", ""), "\n\n", ""),
		"blank lines in advance": "\n\n\n" + whole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, raw)
			require.NoError(t, h.err)
			require.Equal(t, "ab", h.text())
		})
	}
}

func TestLoosePieces(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"numeric id, float created": data(`{"id":17,"created":1.5e9,"choices":[{"index":0.0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`),
		"content as parts":          piece(`{"content":[{"type":"text","text":"o"},"k"]}`) + ended("stop"),
		"content as one part":       piece(`{"content":{"type":"text","text":"ok"}}`) + ended("stop"),
		"content null":              piece(`{"role":"assistant","content":null}`) + said("ok") + ended("stop"),
		"delta null":                data(`{"choices":[{"delta":null}]}`) + said("ok") + ended("stop"),
		"choices null":              data(`{"choices":null}`) + said("ok") + ended("stop"),
		"filter results first":      data(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`) + said("ok") + ended("stop"),
		"text completion":           data(`{"choices":[{"text":"ok","finish_reason":"stop"}]}`),
		"a second choice":           data(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"ok"}}]}`) + ended("stop"),
		"no index":                  data(`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`),
		"whole JSON":                `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`,
		"whole JSON, no reason":     "  \n\n" + `{"choices":[{"message":{"content":"ok"}}]}`,
		"whole message after":       said("ok") + data(`{"choices":[{"delta":null,"message":{"content":"ok"},"finish_reason":"stop"}]}`),
		"upper case reason":         said("ok") + ended("STOP"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, raw)
			require.NoError(t, h.err)
			require.Equal(t, "ok", h.resp.Message.Content.String())
			require.Equal(t, "ok", h.text())
			require.Equal(t, "stop", h.resp.FinishReason)
		})
	}
}

func TestA07CutCharacters(t *testing.T) {
	t.Parallel()
	raw := func(bytes string) string { return data(`{"choices":[{"delta":{"content":"` + bytes + `"}}]}`) }
	for name, c := range map[string]struct{ raw, want string }{
		"a: every byte on its own":    {said("研究 😀") + ended("stop"), "研究 😀"},
		"b: halves in two deltas":     {raw(`x\ud83d`) + raw(`\ude00y`) + ended("stop"), "x😀y"},
		"b: halves in one delta":      {raw(`x\ud83d\ude00y`) + ended("stop"), "x😀y"},
		"b: an empty delta between":   {raw(`\ud83d`) + raw(``) + raw(`\ude00`) + ended("stop"), "😀"},
		"c: bytes over two events":    {raw("x\xe7\xa0") + raw("\x94y") + ended("stop"), "x研y"},
		"c: one byte an event":        {raw("\xf0") + raw("\x9f") + raw("\x98") + raw("\x80") + ended("stop"), "😀"},
		"a half that stays alone":     {raw(`x\ud83d`) + raw(`y`) + ended("stop"), "xy"},
		"a low half alone":            {raw(`x\ude00y`) + ended("stop"), "xy"},
		"a half at the end":           {raw(`x\ud83d`) + ended("stop"), "x"},
		"bytes that are no character": {raw("x\xff\xfey") + ended("stop"), "xy"},
		"a replacement that was sent": {raw(`x\ufffdy`) + ended("stop"), "x\uFFFDy"},
		"two high halves":             {raw(`\ud83d\ud83d\ude00`) + ended("stop"), "😀"},
		"escapes":                     {raw(`\"\\\/\b\f\n\r\t\u0041`) + ended("stop"), "\"\\/\b\f\n\r\tA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := clientFor(t, testConfig(), replyReader(200, func() io.Reader {
				return iotest.OneByteReader(strings.NewReader(c.raw))
			}))
			h := hear(client, question("hello"))
			require.NoError(t, h.err)
			require.Equal(t, c.want, h.resp.Message.Content.String())
			require.Equal(t, c.want, h.text())
			for _, d := range h.deltas {
				require.True(t, utf8.ValidString(d.Text))
			}
		})
	}
}

func TestA07CutCharactersInArgumentsAndReasoning(t *testing.T) {
	t.Parallel()
	part := func(args string) string {
		return piece(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"search","arguments":"` + args + `"}}]}`)
	}
	h := streamed(t, piece(`{"reasoning_content":"\ud83d"}`)+piece(`{"reasoning_content":"\ude00"}`)+
		part(`{\"q\":\"\ud83d`)+part(`\ude00`)+part("\xe7\xa0")+part("\x94\\\"}")+ended("tool_calls"))
	require.NoError(t, h.err)
	require.JSONEq(t, `{"q":"😀研"}`, string(h.resp.Message.ToolCalls[0].Args))
	require.Equal(t, "😀", h.resp.Message.Reasoning())
	require.JSONEq(t, `{"q":"😀研"}`, h.calls()[0].Args)
}

func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	t.Run("one line for ever", func(t *testing.T) {
		t.Parallel()
		c, _ := clientFor(t, testConfig(), replyReader(200, func() io.Reader { return &repeating{unit: "x"} }))
		e := failure(t, hear(c, question("hello")).err)
		require.False(t, e.Retryable)
		require.ErrorIs(t, e, errLineTooLong)
	})
	for name, body := range map[string]io.Reader{
		"one value for ever":   io.MultiReader(strings.NewReader(`{"a":"`), &repeating{unit: "x"}),
		"comments for ever":    &repeating{unit: ": ping\n"},
		"data lines for ever":  &repeating{unit: "data: [\n"},
		"blank lines for ever": &repeating{unit: "\n"},
		"text for ever":        &repeating{unit: said("more") + ended("stop")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(func(error) {}, 0)
			err := readAnswer(&assembly{}, &bodyReader{body: body, watch: w, left: 1 << 20}, w)
			require.ErrorIs(t, err, errTooBig)
			require.False(t, failure(t, failedRead(err)).Retryable)
		})
	}
}

// repeating never ends.
type repeating struct {
	unit string
	rest string
}

func (r *repeating) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if r.rest == "" {
			r.rest = strings.Repeat(r.unit, max(1, 4096/len(r.unit)))
		}
		m := copy(p[n:], r.rest)
		r.rest = r.rest[m:]
		n += m
	}
	return n, nil
}
