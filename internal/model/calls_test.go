package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// toolCallsPiece is a chunk with these entries of tool_calls.
func toolCallsPiece(entries ...string) string {
	return piece(`{"tool_calls":[` + strings.Join(entries, ",") + `]}`)
}

type wantCall struct{ id, name, args string }

func requireCalls(t *testing.T, h *heard, want ...wantCall) {
	t.Helper()
	require.NoError(t, h.err)
	require.Empty(t, h.resp.Message.InvalidToolCalls)
	var got []wantCall
	for _, c := range h.resp.Message.ToolCalls {
		require.Equal(t, "tool_call", c.Type)
		got = append(got, wantCall{c.ID, c.Name, string(c.Args)})
	}
	require.Equal(t, want, got)
	streamed := h.calls()
	require.Len(t, streamed, len(want))
	for i, c := range streamed {
		require.Equal(t, want[i].id, c.ID, "the id in the stream is the id in the message")
		require.Equal(t, want[i].name, c.Name)
	}
}

func TestA09CallsWithoutIndex(t *testing.T) {
	t.Parallel()
	a, b := wantCall{"x1", "search", `{"q":"a"}`}, wantCall{"x2", "search", `{"q":"b"}`}
	for name, raw := range map[string]string{
		"whole": toolCallsPiece(`{"id":"x1","function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) +
			toolCallsPiece(`{"id":"x2","function":{"name":"search","arguments":"{\"q\":\"b\"}"}}`),
		"in one delta": toolCallsPiece(`{"id":"x1","function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`,
			`{"id":"x2","function":{"name":"search","arguments":"{\"q\":\"b\"}"}}`),
		"in pieces without id": toolCallsPiece(`{"id":"x1","function":{"name":"search","arguments":""}}`) +
			toolCallsPiece(`{"function":{"arguments":"{\"q\":"}}`) + toolCallsPiece(`{"function":{"arguments":"\"a\"}"}}`) +
			toolCallsPiece(`{"id":"x2","function":{"name":"search","arguments":""}}`) +
			toolCallsPiece(`{"function":{"arguments":"{\"q\":\"b\"}"}}`),
		"in pieces with id": toolCallsPiece(`{"id":"x1","function":{"name":"search"}}`) +
			toolCallsPiece(`{"id":"x1","function":{"arguments":"{\"q\":"}}`) +
			toolCallsPiece(`{"id":"x2","function":{"name":"search"}}`) +
			toolCallsPiece(`{"id":"x1","function":{"arguments":"\"a\"}"}}`) +
			toolCallsPiece(`{"id":"x2","function":{"arguments":"{\"q\":\"b\"}"}}`),
		"index null": toolCallsPiece(`{"index":null,"id":"x1","function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) +
			toolCallsPiece(`{"index":null,"id":"x2","function":{"name":"search","arguments":"{\"q\":\"b\"}"}}`),
		"all under index 0": toolCallsPiece(`{"index":0,"id":"x1","function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) +
			toolCallsPiece(`{"index":0,"id":"x2","function":{"name":"search","arguments":"{\"q\":"}}`) +
			toolCallsPiece(`{"index":0,"function":{"arguments":"\"b\"}"}}`),
		"indexes mixed up": toolCallsPiece(`{"index":3,"id":"x1","function":{"name":"search","arguments":"{\"q\":"}}`,
			`{"index":7,"id":"x2","function":{"name":"search","arguments":"{\"q\":"}}`) +
			toolCallsPiece(`{"index":7,"function":{"arguments":"\"b\"}"}}`, `{"index":3,"function":{"arguments":"\"a\"}"}}`),
		"id and name in every piece": toolCallsPiece(`{"index":0,"id":"x1","function":{"name":"search","arguments":"{\"q\":"}}`) +
			toolCallsPiece(`{"index":0,"id":"x1","function":{"name":"search","arguments":"\"a\"}"}}`) +
			toolCallsPiece(`{"index":1,"id":"x2","function":{"name":"search","arguments":"{\"q\":\"b\"}"}}`) +
			toolCallsPiece(`{"index":1,"id":"x2","function":{"name":"search","arguments":""}}`),
		"name beside, no function": toolCallsPiece(`{"id":"x1","name":"search","arguments":"{\"q\":\"a\"}"}`) +
			toolCallsPiece(`{"id":"x2","name":"search","arguments":"{\"q\":\"b\"}"}`),
		"arguments as objects": toolCallsPiece(`{"id":"x1","function":{"name":"search","arguments":{"q":"a"}}}`) +
			toolCallsPiece(`{"id":"x2","function":{"name":"search","arguments":{"q":"b"}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireCalls(t, streamed(t, raw+ended("tool_calls")+done), a, b)
		})
	}
}

func TestA11CallsWithoutID(t *testing.T) {
	t.Parallel()
	made := func(n int) string { return fmt.Sprintf("call_run1-7_%d", n) }
	ten := toolCallsPiece(`{"index":0,"id":"z","function":{"name":"search","arguments":""}}`)
	for _, part := range []string{`{`, `\"`, `q`, `\"`, `:`, `\"`, `a`, `\"`, `}`} {
		ten += toolCallsPiece(`{"index":0,"id":"","function":{"arguments":"` + part + `"}}`)
	}
	for name, c := range map[string]struct {
		raw  string
		want []wantCall
	}{
		"null": {
			toolCallsPiece(`{"index":0,"id":null,"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}},
		},
		"absent, no index": {
			toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":"}}`) + toolCallsPiece(`{"function":{"arguments":"\"a\"}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}},
		},
		"two, neither id nor index": {
			toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`, `{"function":{"name":"ls","arguments":"{}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}, {made(1), "ls", `{}`}},
		},
		"two of one name": {
			toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) + toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":\"b\"}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}, {made(1), "search", `{"q":"b"}`}},
		},
		"id after the arguments": {
			toolCallsPiece(`{"index":0,"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) + toolCallsPiece(`{"index":0,"id":"late","function":{}}`),
			[]wantCall{{"late", "search", `{"q":"a"}`}},
		},
		"id after, no index": {
			toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) + toolCallsPiece(`{"id":"late"}`),
			[]wantCall{{"late", "search", `{"q":"a"}`}},
		},
		"only in the first of ten": {ten, []wantCall{{"z", "search", `{"q":"a"}`}}},
		"numeric":                  {toolCallsPiece(`{"index":0,"id":12,"function":{"name":"ls","arguments":"{}"}}`), []wantCall{{"12", "ls", `{}`}}},
		"blank":                    {toolCallsPiece(`{"index":0,"id":"  ","function":{"name":"ls","arguments":"{}"}}`), []wantCall{{made(0), "ls", `{}`}}},
		"twice the same": {
			toolCallsPiece(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"search","arguments":"{}"}}`),
			[]wantCall{{"a", "ls", `{}`}, {"a_2", "search", `{}`}},
		},
		"two of one name, the name alone": {
			toolCallsPiece(`{"function":{"name":"search"}}`) + toolCallsPiece(`{"function":{"arguments":"{\"q\":\"a\"}"}}`) +
				toolCallsPiece(`{"function":{"name":"search","arguments":""}}`) + toolCallsPiece(`{"function":{"arguments":"{\"q\":\"b\"}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}, {made(1), "search", `{"q":"b"}`}},
		},
		"the name again at the end": {
			toolCallsPiece(`{"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) + toolCallsPiece(`{"function":{"name":"search","arguments":""}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}},
		},
		"the name again with a blank": {
			toolCallsPiece(`{"index":0,"function":{"name":"search","arguments":"{\"q\":\"a\"}"}}`) + toolCallsPiece(`{"index":0,"function":{"name":"search","arguments":"\n"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}},
		},
		"older function_call": {
			piece(`{"function_call":{"name":"search","arguments":"{\"q\":"}}`) + piece(`{"function_call":{"arguments":"\"a\"}"}}`),
			[]wantCall{{made(0), "search", `{"q":"a"}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := streamed(t, c.raw+ended("tool_calls")), streamed(t, c.raw+ended("function_call"))
			requireCalls(t, first, c.want...)
			requireCalls(t, second, c.want...) // the same in every attempt
			require.Equal(t, "tool_calls", second.resp.FinishReason)
		})
	}
}

func TestMadeIDs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "call_run-1_3", madeID("run-1", 3))
	long := madeID(strings.Repeat("b2c3", 20), 3)
	require.LessOrEqual(t, len(long), maxMadeID)
	require.Equal(t, long, madeID(strings.Repeat("b2c3", 20), 3))
	require.NotEqual(t, long, madeID(strings.Repeat("b2c4", 20), 3))
	require.True(t, validName(madeID("thread/ü 1:2", 0)))
}

// An answer without any scope still has ids that depend on the request alone.
func TestA11WithoutScope(t *testing.T) {
	t.Parallel()
	id := func(text string) string {
		w := &wire{answers: []func(*http.Request) (*http.Response, error){
			reply(200, toolCallsPiece(`{"function":{"name":"ls","arguments":"{}"}}`)+ended("tool_calls")),
		}}
		c, err := New(testConfig(), Options{Transport: w})
		require.NoError(t, err)
		return hear(c, question(text)).resp.Message.ToolCalls[0].ID
	}
	first := id("one")
	require.Equal(t, first, id("one"))
	require.NotEqual(t, id("one"), id("two"))
}

func TestRepeatedIDsGetASuffix(t *testing.T) {
	t.Parallel()
	call := func(ids ...string) string {
		raw := ""
		for i, id := range ids {
			raw += toolCallsPiece(fmt.Sprintf(`{"index":%d,"id":%q,"function":{"name":"ls","arguments":"{}"}}`, i, id))
		}
		return raw + ended("tool_calls")
	}
	req := question("go on")
	asked := thread.Message{Role: thread.RoleAI, ToolCalls: []thread.ToolCall{{ID: "ls:0", Name: "ls", Args: json.RawMessage("{}")}}}
	req.Messages = append(req.Messages, asked, thread.ToolResult("r", asked.ToolCalls[0], thread.ToolSuccess, "a.md"))
	req.KnownCallIDs = func(id string) bool { return id == "ls:0_2" || id == "ls:1" }
	c, _ := clientFor(t, testConfig(), reply(200, call("ls:0", "ls:1", "ls:2", "ls:0")))
	h := hear(c, req)
	requireCalls(t, h, wantCall{"ls:0_3", "ls", "{}"}, wantCall{"ls:1_2", "ls", "{}"}, wantCall{"ls:2", "ls", "{}"}, wantCall{"ls:0_4", "ls", "{}"})

	req.KnownCallIDs = func(string) bool { return true }
	require.NoError(t, hear(c, req).err, "an answer to every question ends the search")
}

func TestA13EmptyArguments(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"empty": `,"arguments":""`, "absent": ``, "null": `,"arguments":null`, "blanks": `,"arguments":"  \n"`,
		"the word null": `,"arguments":"null"`, "twice encoded nothing": `,"arguments":"\"\""`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireCalls(t, streamed(t, toolCallsPiece(`{"index":0,"id":"c","function":{"name":"ls"`+args+`}}`)+ended("tool_calls")),
				wantCall{"c", "ls", "{}"})
		})
	}
}

func TestA14Arguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1}`:                 `{"a":1}`,
		` {"a":1} `:               `{"a":1}`,
		`"{\"path\":\"a\"}"`:      `{"path":"a"}`,
		`{"n":12345678901234567}`: `{"n":12345678901234567}`,
	} {
		got, err := parseArguments(text)
		require.NoError(t, err, text)
		require.Equal(t, want, string(got))
	}
	for text, why := range map[string]string{
		`{"a":1}{"a":1}`:                     "more text follows",
		`{"a":1}}`:                           "more text follows",
		`[1]`:                                "not a list",
		`7`:                                  "not a number",
		`true`:                               "not true or false",
		`"text"`:                             "not a text",
		`"\"{}\""`:                           "not a text",
		`{"path":"a.md","content":"unfinis`:  "the text ends in the middle",
		`{'a':1}`:                            "not valid JSON",
		`{"a":` + strings.Repeat("[", 10001): "not valid JSON",
	} {
		_, err := parseArguments(text)
		require.ErrorContains(t, err, why, text)
		require.Less(t, len(err.Error()), 300)
	}
}

func TestB04BrokenArguments(t *testing.T) {
	t.Parallel()
	long := `{\"path\":\"a.md\",\"content\":\"` + strings.Repeat("unfinished ", 5000)
	h := streamed(t, toolCallsPiece(`{"index":0,"id":"ok","function":{"name":"ls","arguments":"{}"}}`)+
		toolCallsPiece(`{"index":1,"id":"bad","function":{"name":"write_file","arguments":"`+long+`"}}`)+ended("tool_calls"))
	require.NoError(t, h.err)
	require.Len(t, h.resp.Message.ToolCalls, 1)
	require.Len(t, h.resp.Message.InvalidToolCalls, 1)
	bad := h.resp.Message.InvalidToolCalls[0]
	require.Equal(t, "bad", bad.ID)
	require.Equal(t, "write_file", bad.Name)
	require.Equal(t, "invalid_tool_call", bad.Type)
	require.Less(t, len(bad.Args), 600, "not the whole text again")
	require.Contains(t, bad.Error, "ends in the middle")

	// The next request has valid arguments and a short error result.
	history := Repair(append(question("x").Messages, h.resp.Message))
	require.Len(t, history, 4)
	require.Equal(t, "{}", string(history[1].ToolCalls[1].Args))
	require.Empty(t, history[1].InvalidToolCalls)
	require.Equal(t, "bad", history[3].ToolCallID)
	require.Equal(t, thread.ToolError, history[3].Status)
	require.Contains(t, history[3].Content.String(), "no file was written")
	require.Less(t, len(history[3].Content.String()), 800)
}

func TestB05Names(t *testing.T) {
	t.Parallel()
	one := func(name string) *heard {
		return streamed(t, toolCallsPiece(`{"index":0,"id":"c","function":{"name":"`+name+`","arguments":"{}"}}`)+ended("tool_calls"))
	}
	for _, name := range []string{"", "  "} {
		h := one(name)
		require.NoError(t, h.err)
		require.Empty(t, h.resp.Message.ToolCalls)
		bad := h.resp.Message.InvalidToolCalls[0]
		require.Equal(t, "unknown_tool", bad.Name)
		require.Contains(t, bad.Error, "no tool name")
	}
	for sent, want := range map[string]string{
		"functions.ls": "ls", " ls ": "ls", "default_api:read_file": "read_file", "no_such": "no_such", "a.b": "a.b",
	} {
		h := one(sent)
		require.NoError(t, h.err)
		require.Equal(t, want, h.resp.Message.ToolCalls[0].Name)
	}
	for name, want := range map[string]string{
		"": "unknown_tool", "a.b c": "a_b_c", "搜索": "__", strings.Repeat("x", 70): strings.Repeat("x", 64), "ok-1_A": "ok-1_A",
	} {
		require.Equal(t, want, wireName(name))
		require.Equal(t, want, wireName(want), "settled")
	}
	// A name in parts.
	h := streamed(t, toolCallsPiece(`{"index":0,"id":"c","function":{"name":"read_"}}`)+
		toolCallsPiece(`{"index":0,"function":{"name":"file"}}`)+toolCallsPiece(`{"index":0,"function":{"arguments":"{}"}}`)+ended("tool_calls"))
	requireCalls(t, h, wantCall{"c", "read_file", "{}"})
}

func TestCallExtrasGoBack(t *testing.T) {
	t.Parallel()
	raw := toolCallsPiece(`{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s1"}}}`) + ended("tool_calls")
	c, w := clientFor(t, testConfig(), reply(200, raw))
	h := hear(c, question("x"))
	require.NoError(t, h.err)
	req := question("x")
	req.Messages = append(req.Messages, stored(t, h.resp.Message))
	require.NoError(t, hear(c, req).err)
	require.Contains(t, string(w.bodies[1]), `"extra_content":{"google":{"thought_signature":"s1"}}`)
}

// stored is a message as it comes back from where it was stored.
func stored(t tester, m thread.Message) thread.Message {
	t.Helper()
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	var back thread.Message
	require.NoError(t, json.Unmarshal(raw, &back))
	return back
}
