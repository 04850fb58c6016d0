package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func chunk(s string) string { return "data: " + s + "\n\n" }

const (
	finStop  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	finTools = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	done     = "data: [DONE]\n\n"
)

func text(s string) string {
	return chunk(`{"choices":[{"index":0,"delta":{"content":` + mustJSON(s) + `}}]}`)
}

// wire is a case: the replies of the model by order of request; the rest is "fine".
type wire struct {
	name    string
	replies []Reply
	status  string
	answer  string // the last message contains
	not     string // no message contains
	more    func(t *testing.T, p *Process, id string, list []Message, reqs []*Request)
}

func runWires(t *testing.T, m *Model, p *Process, cases []wire) {
	api := p.API()
	for _, tc := range cases {
		mark := "case:" + tc.name + ":"
		m.On(AnyMessage(mark)).Enqueue(tc.replies...).Always(Text("fine"))
		t.Run(tc.name, func(t *testing.T) {
			id := newThread(t, api)
			r := runWatched(t, api, id, mark+" go")
			list := messages(t, api, id)
			reqs := m.RequestsTo(AnyMessage(mark))
			t.Logf("status %s stop %q; %d requests; %q", r.Status, r.StopReason, len(reqs), shape(list))
			if tc.status != "" && tc.status != r.Status {
				t.Errorf("status %s, want %s", r.Status, tc.status)
			}
			if tc.answer != "" && !strings.Contains(last(list).Text(), tc.answer) {
				t.Errorf("the last message is %q", last(list).Text())
			}
			for _, x := range list {
				if tc.not != "" && strings.Contains(x.Text(), tc.not) {
					t.Errorf("message %q contains %q", x.Text(), tc.not)
				}
				if strings.Contains(x.Text(), "\uFFFD") {
					t.Errorf("U+FFFD in %q", x.Text())
				}
			}
			if tc.more != nil {
				tc.more(t, p, id, list, reqs)
			}
			for i := range 2 {
				n := len(messages(t, api, id))
				r = run(t, api, id, "and on")
				if r.Status != "success" {
					t.Errorf("further turn %d: status %s", i, r.Status)
				}
				list = messages(t, api, id)
				if last(list).Text() != "fine" || len(list) != n+2 {
					t.Errorf("further turn: %q", shape(list))
				}
			}
		})
	}
}

// runWatched runs a message as a reader sees it: no frame holds a broken
// character, and the pieces of each answer add up to what is stored.
func runWatched(t *testing.T, api *API, id, text string) Run {
	t.Helper()
	stream, err := api.StreamRun(patient(t), id, SayWatched(text))
	require.NoError(t, err)
	defer stream.Close()
	frames, err := stream.All(patient(t))
	require.NoError(t, err)
	noDoubles(t, frames)
	shown := shownTo(t, frames)
	for _, m := range messages(t, api, id) {
		if got, streamed := shown[m.ID]; streamed && got != m.Text() {
			t.Errorf("the reader was shown %q, stored is %q", got, m.Text())
		}
		delete(shown, m.ID)
	}
	if len(shown) > 0 {
		t.Errorf("the reader was left with messages that are not there: %q", shown)
	}
	r, err := api.Run(patient(t), id, stream.RunID())
	require.NoError(t, err)
	return r
}

// shownTo is what a client shows of the answers in the end, by message id.
func shownTo(t *testing.T, frames []Frame) map[string]string {
	t.Helper()
	shown := map[string]string{}
	for _, f := range frames {
		if strings.Contains(f.Data, "\uFFFD") || strings.Contains(strings.ToLower(f.Data), `\ufffd`) {
			t.Errorf("U+FFFD in a frame: %s", f.Data)
		}
		if f.Event != "messages" {
			continue
		}
		var pair []Message
		require.NoError(t, f.Decode(&pair))
		switch m := pair[0]; {
		case m.Type == "remove":
			delete(shown, m.ID)
		case m.Type == "AIMessageChunk", m.Type == "ai":
			shown[m.ID] += m.Text()
		}
	}
	return shown
}

// sameIDs checks that every call has one id, in the stored message, in its result
// and in each request after it (A11).
func sameIDs(t *testing.T, list []Message, reqs []*Request) {
	t.Helper()
	var stored, results, sent []string
	for _, m := range list {
		for _, c := range m.ToolCalls {
			stored = append(stored, c.ID)
		}
		if m.Type == "tool" {
			results = append(results, m.ToolCallID)
		}
	}
	for _, m := range reqs[len(reqs)-1].Messages {
		for _, c := range m.ToolCalls {
			sent = append(sent, c.ID)
		}
	}
	require.NotEmpty(t, stored)
	require.NotContains(t, stored, "")
	require.Equal(t, stored, results)
	require.Equal(t, stored, sent)
}

func TestA(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	lsTwo := func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
		var tools []Message
		for _, x := range list {
			if x.Type == "tool" {
				tools = append(tools, x)
			}
		}
		require.Len(t, tools, 2)
		require.Contains(t, tools[0].Text(), "nope-a")
		require.Contains(t, tools[1].Text(), "nope-b")
		sameIDs(t, list, reqs)
	}
	madeID := func(t *testing.T, _ *Process, _ string, list []Message, reqs []*Request) {
		t.Helper()
		sameIDs(t, list, reqs)
		require.Equal(t, "success", list[2].Status, "the tool ran: %s", list[2].Text())
	}
	noPath := func(t *testing.T, _ *Process, _ string, list []Message, reqs []*Request) {
		t.Helper()
		sameIDs(t, list, reqs)
		require.Contains(t, list[2].Text(), `missing required argument "path"`)
		require.Equal(t, "{}", reqs[1].Messages[2].ToolCalls[0].Arguments)
	}
	ten := []string{chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"ten","type":"function","function":{"name":"ls","arguments":""}}]}}]}`)}
	for _, part := range []string{`{`, `"description"`, `:`, `"a"`, `,"path"`, `:`, `"/mnt/user`, `-data"`, `}`} {
		ten = append(ten, chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":null,"function":{"arguments":`+mustJSON(part)+`}}]}}]}`))
	}
	ten = append(ten, chunk(finTools), done)
	used := func(t *testing.T, _ *Process, _ string, list []Message, _ []*Request) {
		t.Helper()
		require.JSONEq(t, `{"input_tokens":5,"output_tokens":2,"total_tokens":7}`, string(last(list).Usage))
	}
	usage := func(n int) string {
		return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, 5*n, 2*n, 7*n)
	}
	pings := make([]Step, 0, 500)
	for range 400 {
		pings = append(pings, Comment("ping"))
	}
	pings = append(pings, Send(text("after pings")), Event(finStop), Done())
	runWires(t, m, p, []wire{
		{name: "A01a", replies: []Reply{Raw(text("Partial ans")), Text("whole")}, status: "success", answer: "whole", not: "Partial"},
		{name: "A01b", replies: []Reply{Raw(text("Partial ans"), `data: {"choices":[{"in`), Text("whole")}, status: "success", answer: "whole", not: "Partial"},
		{name: "A01c", replies: []Reply{Steps(Send(text("Partial ans")), Cut()), Text("whole")}, status: "success", answer: "whole", not: "Partial"},
		{name: "A01d", replies: []Reply{Steps(Send(text("Partial ans")), Reset()), Text("whole")}, status: "success", answer: "whole", not: "Partial"},
		{name: "A02a", replies: []Reply{Raw(chunk(`{"choices":[],"error":{"message":"upstream down","code":502}}`), done), Text("whole")}, status: "success", answer: "whole"},
		{name: "A02b", replies: []Reply{Raw("event: error\ndata: {\"type\":\"overloaded_error\"}\n\n"), Text("whole")}, status: "success", answer: "whole"},
		{name: "A02c", replies: []Reply{Raw(chunk(`{"error":"boom"}`)), Text("whole")}, status: "success", answer: "whole"},
		{name: "A02c twice", replies: []Reply{Raw(chunk(`{"error":"boom"}`)), Raw(chunk(`{"error":"boom"}`))}, status: "error", answer: "boom"},
		{name: "A02d", replies: []Reply{Raw(text("some text"), chunk(`{"error":{"message":"server overloaded","code":503}}`)), Text("whole")}, status: "success", answer: "whole", not: "some text"},
		{
			name: "A02e", replies: []Reply{Raw(text("some text"), chunk(`{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`))}, status: "error", answer: "exceeded your current quota",
			more: func(t *testing.T, _ *Process, _ string, _ []Message, reqs []*Request) { require.Len(t, reqs, 1) },
		},
		{name: "A02f", replies: []Reply{Error(200, `{"error":{"message":"bad key","code":"invalid_api_key"}}`)}, status: "error", answer: "bad key"},
		{name: "A02g", replies: []Reply{Error(200, ``), Raw(done), Text("whole")}, status: "success", answer: "whole"},
		{name: "A02h", replies: []Reply{Error(200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"json anyway"},"finish_reason":"stop"}]}`)}, status: "success", answer: "json anyway"},
		{name: "A04", replies: []Reply{Steps(pings...)}, status: "success", answer: "after pings"},
		{name: "A05", replies: []Reply{Raw("\uFEFFdata: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"one \"}}]}\n\n", "data:\n\n", "retry: 3000\n\n", "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two \"}}]}\r\n\r\n", "id: 7\nevent: message\n"+text("three"), chunk(finStop), done)}, status: "success", answer: "one two three"},
		{name: "A05cr", replies: []Reply{Raw("data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two \"}}]}\r\r", "data: "+finStop+"\r\r", "data: [DONE]\r\r")}, status: "success", answer: "two"},
		{name: "A07a", replies: []Reply{Raw("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xe4\xbd", "\xa0好\"}}]}\n\n", chunk(finStop), done)}, status: "success", answer: "你好"},
		{name: "A07b", replies: []Reply{Raw(chunk(`{"choices":[{"index":0,"delta":{"content":"x\ud83d"}}]}`), chunk(`{"choices":[{"index":0,"delta":{"content":"\ude00y"}}]}`), chunk(finStop), done)}, status: "success", answer: "x😀y"},
		{name: "A07c", replies: []Reply{Raw(chunk("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xe4\xbd\"}}]}"), chunk("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xa0b\"}}]}"), chunk(finStop), done)}, status: "success", answer: "a你b"},
		{name: "A07d", replies: []Reply{Raw(chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"w","type":"function","function":{"name":"write_file","arguments":"{\"description\":\"d\",\"path\":\"/mnt/user-data/outputs/a.md\",\"content\":\"x\ud83d"}}]}}]}`), chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\ude00y\"}"}}]}}]}`), chunk(finTools), done)}, status: "success", answer: "fine"},
		{name: "A08a", replies: []Reply{Raw(chunk(`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`), text("usage"), chunk(finStop), chunk(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`), done)}, status: "success", answer: "usage", more: used},
		{name: "A08b", replies: []Reply{Raw(
			chunk(`{"choices":[{"index":0,"delta":{"content":"in "}}],`+usage(0)+`}`), chunk(`{"choices":[{"index":0,"delta":{"content":"every chunk"}}],`+usage(0)+`}`),
			chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+usage(1)+`}`), chunk(`{"choices":[],`+usage(0)+`}`), done)}, status: "success", answer: "in every chunk", more: used},
		{name: "A08c", replies: []Reply{Raw(text("null usage"), chunk(`{"choices":null,"usage":null}`), chunk(finStop), done)}, status: "success", answer: "null usage"},
		{name: "A09", replies: []Reply{Raw(
			chunk(`{"choices":[{"delta":{"tool_calls":[{"id":"x1","type":"function","function":{"name":"ls","arguments":"{\"description\":\"a\","}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\"path\":\"/mnt/user-data/nope-a\"}"}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"id":"x2","type":"function","function":{"name":"ls","arguments":"{\"description\":\"a\",\"path\":"}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\"/mnt/user-data/nope-b\"}"}}]}}]}`),
			chunk(`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`), done)}, status: "success", answer: "fine", more: lsTwo},
		{name: "A11a", replies: []Reply{Raw(
			chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":null,"type":"function","function":{"name":"ls","arguments":"{\"description\":\"a\","}}]}}]}`),
			chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":null,"function":{"arguments":"\"path\":\"/mnt/user-data\"}"}}]}}]}`),
			chunk(finTools), done)}, status: "success", answer: "fine", more: madeID},
		{name: "A11b", replies: []Reply{Raw(
			chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","function":{"name":"ls","arguments":"{\"description\":\"a\",\"path\":\"/mnt/user-data\"}"}}]}}]}`),
			chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"late"}]}}]}`),
			chunk(finTools), done)}, status: "success", answer: "fine", more: madeID},
		{name: "A11c", replies: []Reply{Raw(ten...)}, status: "success", answer: "fine", more: madeID},
		{name: "A09b", replies: []Reply{Raw( // neither index nor id, the name alone in front
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"ls"}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"description\":\"a\",\"path\":\"/mnt/user-data/nope-a\"}"}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"ls"}}]}}]}`),
			chunk(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"description\":\"a\",\"path\":\"/mnt/user-data/nope-b\"}"}}]}}]}`),
			chunk(finTools), done)}, status: "success", answer: "fine", more: lsTwo},
		{name: "A11dup", replies: []Reply{ToolCalls(call("same", "ls", map[string]any{"description": "a", "path": "/mnt/user-data/nope-a"}), call("same", "ls", map[string]any{"description": "a", "path": "/mnt/user-data/nope-b"}))}, status: "success", answer: "fine", more: lsTwo},
		{name: "A11again", replies: []Reply{ToolCalls(call("call_0", "ls", map[string]any{"description": "a", "path": "/mnt/user-data/nope-a"})), ToolCalls(call("call_0", "ls", map[string]any{"description": "a", "path": "/mnt/user-data/nope-b"}))}, status: "success", answer: "fine", more: lsTwo},
		{name: "A13a", replies: []Reply{ToolCalls(call("e", "ls", "")), Text("fine")}, status: "success", answer: "fine", more: noPath},
		{name: "A13b", replies: []Reply{ToolCalls(call("e", "ls", "null")), Text("fine")}, status: "success", answer: "fine", more: noPath},
		{name: "A13c", replies: []Reply{ToolCalls(call("e", "ls", "   ")), Text("fine")}, status: "success", answer: "fine", more: noPath},
		{name: "A13d", replies: []Reply{Raw(chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"e","type":"function","function":{"name":"ls"}}]}}]}`), chunk(finTools), done)}, status: "success", answer: "fine", more: noPath},
		{name: "A14a", replies: []Reply{ToolCalls(call("e", "ls", `"{\"description\":\"a\",\"path\":\"/mnt/user-data\"}"`))}, status: "success", answer: "fine"},
		{name: "A14b", replies: []Reply{ToolCalls(call("e", "ls", `{"path":"/mnt/user-data"}{"path":"/mnt/user-data"}`))}, status: "success", answer: "fine"},
		{name: "A14c", replies: []Reply{ToolCalls(call("e", "ls", `{"path":"/mnt/user-data"}}`))}, status: "success", answer: "fine"},
		{name: "A16a", replies: []Reply{Text(`<tool_call>{"name":"ls","arguments":{}}</tool_call>`)}, status: "success", answer: "fine", not: "<tool_call>"},
		{name: "A16b", replies: []Reply{Text("", WithReasoning(`<tool_call>{"name":"ls","arguments":{}}</tool_call>`))}, status: "success", answer: "fine", not: "<tool_call>"},
		{name: "A17a", replies: []Reply{Raw(text("<thi"), text("nk>plan</think>ans"), text("wer `<think>` end"), chunk(finStop), done)}, status: "success", answer: "answer `<think>` end", not: "plan"},
		{name: "A17b", replies: []Reply{Raw(text("<think>never closed"), chunk(finStop), done)}},
		{name: "A19", replies: []Reply{ToolCalls(call("b", "bash", map[string]any{"description": "a", "command": "true"}))}, status: "success", answer: "fine"},
		{name: "A20", replies: []Reply{Text("", WithFinish("content_filter"))}, status: "success", answer: "content filter ended this answer"},
		{
			name: "A22", replies: []Reply{APIError(429, "rate_limit_exceeded", "slow", "Retry-After: 1"), APIError(503, "x", "slow", "retry-after-ms: 700"), Text("whole")}, status: "success", answer: "whole",
			more: func(t *testing.T, _ *Process, _ string, _ []Message, reqs []*Request) {
				require.Len(t, reqs, 3)
				require.GreaterOrEqual(t, reqs[1].Time.Sub(reqs[0].Time), time.Second)
				require.GreaterOrEqual(t, reqs[2].Time.Sub(reqs[1].Time), 700*time.Millisecond)
			},
		},
	})
}

func TestA18Thinking(t *testing.T) {
	m := NewModel(t, WithThinking())
	cfg := strings.Replace(ConfigFor(m), "    api_key: kit-key", "    api_key: kit-key\n    supports_thinking: true", 1)
	p := StartDev(t, DevOptions{Config: cfg})
	ls := call("t1", "ls", map[string]any{"description": "a", "path": "/mnt/user-data"})
	ls2 := call("t2", "ls", map[string]any{"description": "a", "path": "/mnt/user-data"})
	ls3 := call("t3", "ls", map[string]any{"description": "a", "path": "/mnt/user-data"})
	runWires(t, m, p, []wire{
		{name: "A18a", replies: []Reply{ToolCalls(ls).With(WithReasoning(" think\n hard "), WithChunks(4))}, status: "success", answer: "fine"},
		{name: "A18b", replies: []Reply{ToolCalls(ls2)}, status: "success", answer: "fine"},
		{name: "A18c", replies: []Reply{ToolCalls(ls3).With(WithReasoningField("reasoning", "other field"))}, status: "success", answer: "fine"},
	})
}
