package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// FuzzStream: whatever a provider sends, reading it ends, with an answer that is
// consistent or with an error that has a class.
func FuzzStream(f *testing.F) {
	for _, raw := range []string{
		"", done, said("Hello ") + said("there") + ended("stop") + done, ": ping\n\n" + said("x"),
		`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, `[{"error":{"message":"no"}}]`, "<html></html>",
		said("<think>a</think>b `<think>`") + ended("stop"), said("a\n</think>\nb") + ended("stop"),
		toolCallsPiece(writeCall) + ended("length"), toolCallsPiece(writeCall) + ended("content_filter"),
		toolCallsPiece(`{"function":{"name":"ls","arguments":"{"}}`) + toolCallsPiece(`{"id":"x","function":{"arguments":"}"}}`) + done,
		piece(`{"content":"\ud83d"}`) + piece(`{"content":"\ude00"}`) + ended("stop"), piece("{\"content\":\"\xe7\xa0\"}") + done,
		piece(`{"reasoning_details":[{"index":0,"text":"a"},{"index":0,"text":"b"}],"refusal":"no"}`) + done,
		"event: error\ndata: {\"type\":\"overloaded_error\"}\n\n", "data: {\"choices\":[\ndata: ]}\n\n", "\xEF\xBB\xBFdata:{}\r\r",
		data(`{"choices":[{"delta":{"function_call":{"name":"ls","arguments":{"a":1}}},"finish_reason":"function_call"}],"usage":{"prompt_tokens":"1"}}`),
	} {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, slow bool) {
		h := &heard{}
		a := &assembly{emit: func(d Delta) error { h.deltas = append(h.deltas, d); return nil }}
		var err error
		w := newWatch(func(error) {}, 0)
		if slow {
			err = readAnswer(a, iotest.OneByteReader(bytes.NewReader(raw)), w)
		} else {
			err = readAnswer(a, bytes.NewReader(raw), w)
		}
		if err == nil {
			h.resp, err = a.response(answerContext{configured: "big", tools: testTools(), scope: "s"})
		}
		for _, d := range h.deltas {
			require.True(t, utf8.ValidString(d.Text) && utf8.ValidString(d.Reasoning))
			for _, c := range d.ToolCalls {
				require.True(t, utf8.ValidString(c.Args))
			}
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				err = failedRead(err)
			}
			require.NotEmpty(t, failure(t, err).Class)
			return
		}
		requireConsistent(t, h)
	})
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	require.TestingT
	Helper()
}

func requireConsistent(t tester, h *heard) {
	t.Helper()
	m := h.resp.Message
	require.NotEmpty(t, h.resp.FinishReason)
	if !h.resp.Rewritten {
		require.Equal(t, h.text(), m.Content.String())
		require.Equal(t, h.reasoning(), m.Reasoning())
	}
	seen := map[string]bool{}
	for n := range m.CallCount() {
		call, invalid, _ := m.CallAt(n)
		require.NotEmpty(t, strings.TrimSpace(call.ID))
		require.False(t, seen[call.ID])
		seen[call.ID] = true
		require.NotEmpty(t, call.Name)
		if invalid == nil {
			require.True(t, isObject(call.Args))
		} else {
			require.NotEmpty(t, invalid.Error)
			require.LessOrEqual(t, len(invalid.Args), maxKeptArgs+3)
		}
	}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	require.True(t, utf8.Valid(raw))

	req := Request{Messages: []thread.Message{thread.Human("h", "q"), stored(t, m), thread.Human("h", "r")}}
	cfg := testConfig()
	body, err := encodeRequest(&cfg, quirks{}, &req)
	require.NoError(t, err)
	require.Empty(t, violations(body, false), "%s", body)
}

// FuzzRepair: any history that can be read makes a valid request.
func FuzzRepair(f *testing.F) {
	for _, raw := range []string{
		`[]`, `[{"type":"human","content":"q"}]`,
		`[{"type":"ai","tool_calls":[{"id":"a","name":"ls","args":{}},{"id":"a","name":"","args":null}]},{"type":"tool","tool_call_id":"a"}]`,
		`[{"type":"ai","invalid_tool_calls":[{"id":"","name":"x","args":"{","error":"e"}],"additional_kwargs":{"tool_calls":[{"id":1}]}}]`,
		`[{"type":"tool","tool_call_id":"x"},{"type":"system","content":"s"},{"type":"ai","content":[{"type":"text"}]},{"type":"human","content":[{"type":"image"}]}]`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var history []thread.Message
		if json.Unmarshal(raw, &history) != nil {
			return
		}
		once := Repair(history)
		require.Equal(t, spell(once), spell(Repair(once)))
		cfg := testConfig()
		req := Request{Messages: history, Tools: testTools()}
		body, err := encodeRequest(&cfg, quirks{}, &req)
		if err != nil {
			require.ErrorIs(t, err, errNothingToSend)
			return
		}
		require.Empty(t, violations(body, false), "%s", body)
	})
}
