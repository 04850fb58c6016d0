package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

const writeCall = `{"index":0,"id":"w","function":{"name":"write_file","arguments":"{\"path\":\"report.md\",\"content\":\"short\"}"}}`

func TestB13FilteredCallsAreDropped(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"content_filter", "refusal", "SAFETY", "sensitive", "PROHIBITED_CONTENT", "IMAGE_SAFETY"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, said("Writing.")+toolCallsPiece(writeCall)+ended(reason)+done)
			require.NoError(t, h.err)
			m := h.resp.Message
			require.Zero(t, m.CallCount())
			require.Equal(t, strings.ToLower(reason), h.resp.FinishReason, "the reason is kept")
			require.Equal(t, strings.ToLower(reason), m.ResponseMetadata["finish_reason"])
			require.Contains(t, m.Content.String(), "Writing.\n\nThe provider's content filter ended this answer")
			require.Contains(t, m.Content.String(), "write_file")
			require.Equal(t, m.Content.String(), h.text(), "the reader of the stream is told as well")
			safety, ok := m.AdditionalKwargs[agent.KeySafety].(map[string]any)
			require.True(t, ok)
			require.Equal(t, 1, safety["suppressed_tool_call_count"])
			require.Equal(t, []string{"write_file"}, safety["suppressed_tool_call_names"])
			require.Equal(t, "finish_reason", safety["reason_field"])
		})
	}
	t.Run("stop_reason", func(t *testing.T) {
		t.Parallel()
		h := streamed(t, toolCallsPiece(writeCall)+data(`{"choices":[{"delta":{},"finish_reason":"stop","stop_reason":"refusal"}]}`))
		require.NoError(t, h.err)
		require.Zero(t, h.resp.Message.CallCount())
		require.Equal(t, "refusal", h.resp.FinishReason)
	})
	t.Run("text alone stays as it is", func(t *testing.T) {
		t.Parallel()
		h := streamed(t, said("Half of it")+ended("content_filter"))
		require.NoError(t, h.err)
		require.Equal(t, "Half of it", h.resp.Message.Content.String())
		require.Equal(t, "content_filter", h.resp.FinishReason)
		require.NotContains(t, h.resp.Message.AdditionalKwargs, agent.KeySafety)
	})
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	h := streamed(t, piece(`{"refusal":"I can"}`)+piece(`{"refusal":"not do that."}`)+ended("stop"))
	require.NoError(t, h.err)
	require.Equal(t, "I cannot do that.", h.resp.Message.Content.String())
	require.Equal(t, "I cannot do that.", h.text())
	require.Equal(t, "I cannot do that.", h.resp.Message.AdditionalKwargs[KeyRefusal])

	h = streamed(t, piece(`{"refusal":"No."}`)+toolCallsPiece(writeCall)+ended("tool_calls"))
	require.NoError(t, h.err)
	require.Zero(t, h.resp.Message.CallCount(), "who refuses does not act")

	h = streamed(t, `{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`)
	require.NoError(t, h.err)
	require.Equal(t, "No.", h.resp.Message.Content.String())
}

func TestB14OutputLimit(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"length", "MAX_TOKENS", "max_tokens"} {
		h := streamed(t, toolCallsPiece(`{"index":1,"id":"l","function":{"name":"ls","arguments":"{}"}}`, writeCall)+ended(reason))
		require.NoError(t, h.err)
		m := h.resp.Message
		require.Empty(t, m.ToolCalls, "valid or not, none is run")
		require.Len(t, m.InvalidToolCalls, 2)
		require.Contains(t, m.InvalidToolCalls[1].Error, "output limit")
		require.Contains(t, m.InvalidToolCalls[1].Error, "append")
		require.Equal(t, strings.ToLower(reason), h.resp.FinishReason)

		results := Repair([]thread.Message{thread.Human("h", "x"), m})
		require.Len(t, results, 4)
		require.Contains(t, results[3].Content.String(), "output limit")
		require.Contains(t, results[3].Content.String(), "no file was written")
	}
	h := streamed(t, said("A long answer that")+ended("length"))
	require.NoError(t, h.err)
	require.Equal(t, "A long answer that", h.resp.Message.Content.String())
	require.Equal(t, "length", h.resp.FinishReason)
}

func TestA16CallWrittenAsText(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"hermes":     said(`<tool_call>{"name":"ls","arguments":{}}</tool_call>`),
		"split":      said(`<tool_`) + said(`call>{"name":"ls"}</tool_call>`),
		"behind":     said("I look.\n<tool_call>\n{\"name\": \"no_such\"}\n</tool_call>"),
		"in a line":  said(`Now <function=read_file>{"path":"a"}</function>`),
		"mistral":    said(`[TOOL_CALLS][{"name":"ls"}]`),
		"deepseek":   said("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls"),
		"kimi":       said("<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:0"),
		"anthropic":  said("<function_calls>\n<invoke name=\"ls\">"),
		"in thought": piece(`{"reasoning_content":"<tool_call>{\"name\":\"ls\"}</tool_call>"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, streamed(t, raw+ended("stop")).err)
			require.Equal(t, ClassUnstructuredCall, e.Class)
			require.True(t, e.Retryable)
			require.Equal(t, 2, e.MaxAttempts, "once more, then the run ends with this")
			require.Contains(t, e.Message, "did not produce a structured call")
		})
	}
	for name, raw := range map[string]string{
		"code span":          said("Models write `<tool_call>` before a call of ls.") + ended("stop"),
		"fence":              said("```\n<tool_call>{\"name\":\"ls\"}</tool_call>\n```") + ended("stop"),
		"a word in a line":   said("The tag <tool_call> begins it.") + ended("stop"),
		"a longer word":      said("See <function=lsof> there.") + ended("stop"),
		"thought about, not": piece(`{"reasoning_content":"<tool_call>ls"}`) + said("The answer.") + ended("stop"),
		"with a real call":   said("<tool_call>ls") + toolCallsPiece(writeCall) + ended("tool_calls"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, streamed(t, raw).err)
		})
	}
}

func TestA20NothingAtAll(t *testing.T) {
	t.Parallel()
	h := streamed(t, ended("content_filter")+done)
	require.NoError(t, h.err)
	require.Contains(t, h.resp.Message.Content.String(), "content filter")
	require.Equal(t, h.resp.Message.Content.String(), h.text())

	// An empty answer for another reason stays what it is; the loop decides, and
	// the next request is valid (V7).
	h = streamed(t, piece(`{"reasoning_content":"hm"}`)+ended("stop"))
	require.NoError(t, h.err)
	require.Empty(t, h.resp.Message.Content.String())
	history := []thread.Message{thread.Human("h1", "x"), h.resp.Message, thread.Human("h2", "y")}
	require.Len(t, Repair(history), 2)
}

func TestNoToolsMeansNoCalls(t *testing.T) {
	t.Parallel()
	c, w := clientFor(t, testConfig(), reply(200, said("Enough.")+toolCallsPiece(writeCall)+ended("tool_calls")))
	req := question("x")
	req.NoTools = true
	h := hear(c, req)
	require.NoError(t, h.err)
	require.Zero(t, h.resp.Message.CallCount())
	require.Equal(t, "Enough.", h.resp.Message.Content.String())
	require.Equal(t, "stop", h.resp.FinishReason)
	require.Contains(t, string(w.bodies[0]), `"tool_choice":"none"`)
}

func TestA08Usage(t *testing.T) {
	t.Parallel()
	usage := func(text string) string { return data(`{"choices":[],"usage":` + text + `}`) }
	for name, c := range map[string]struct {
		raw  string
		want thread.Usage
	}{
		"without choices": {
			said("x") + ended("stop") + usage(`{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}`) + done,
			thread.Usage{InputTokens: 5, OutputTokens: 2, TotalTokens: 7},
		},
		"in every chunk, the last counts": {
			data(`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`) +
				data(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`) + ended("stop") +
				usage(`{"prompt_tokens":5,"completion_tokens":9}`) + usage(`{"prompt_tokens":0,"completion_tokens":0}`) + usage("null") + done,
			thread.Usage{InputTokens: 5, OutputTokens: 9, TotalTokens: 14},
		},
		"details": {
			said("x") + ended("stop") + usage(`{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`),
			thread.Usage{
				InputTokens: 5, OutputTokens: 2, TotalTokens: 7,
				InputTokenDetails: map[string]int{"cache_read": 4}, OutputTokenDetails: map[string]int{"reasoning": 1},
			},
		},
		"floats and other names": {
			said("x") + ended("stop") + usage(`{"input_tokens":5.0,"output_tokens":"2","prompt_cache_hit_tokens":3}`),
			thread.Usage{InputTokens: 5, OutputTokens: 2, TotalTokens: 7, InputTokenDetails: map[string]int{"cache_read": 3}},
		},
		"in the choice": {
			data(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1}}]}`),
			thread.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2},
		},
		"beside": {
			said("x") + ended("stop") + data(`{"choices":[],"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}`),
			thread.Usage{InputTokens: 1, OutputTokens: 1, TotalTokens: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, c.raw)
			require.NoError(t, h.err)
			require.Equal(t, c.want, h.resp.Usage)
			require.Equal(t, &c.want, h.resp.Message.Usage)
		})
	}
	h := streamed(t, said("x")+ended("stop"))
	require.NoError(t, h.err)
	require.Nil(t, h.resp.Message.Usage, "not counted is not zero")
}
