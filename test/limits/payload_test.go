package limits

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

const huge = 3 << 20 // bytes: more than Temporal takes in one payload

// M01: whatever a model sends, the run ends or goes on, and the thread can be
// used afterwards, also by a worker that loads it anew. Sizes of answers, tool
// arguments and results are in test/cases.
func TestM01WhatAModelSends(t *testing.T) {
	t.Parallel()
	options := make([]string, 5000)
	for i := range options {
		options[i] = strings.Repeat(fmt.Sprintf("choice %d ", i), 60)
	}
	ask := func(id, question string, more map[string]any) testkit.Call {
		args := map[string]any{"question": question, "clarification_type": "missing_info"}
		for k, v := range more {
			args[k] = v
		}
		return call(id, "ask_clarification", args)
	}
	calls := func(n int, one func(i int) testkit.Call) testkit.Reply {
		list := make([]testkit.Call, n)
		for i := range list {
			list[i] = one(i)
		}
		return testkit.ToolCalls(list...)
	}
	tests := []struct {
		name  string
		reply testkit.Reply
		want  string // status of the run
		check func(t *testing.T, list []testkit.Message)
	}{
		{name: "reasoning", reply: testkit.Text("short", testkit.WithReasoning(strings.Repeat("hm ", huge/3))), want: "success"},
		{
			name: "tiny pieces", reply: testkit.Text(strings.Repeat("ab", 10_000), testkit.WithChunks(10_000)), want: "success",
			check: func(t *testing.T, list []testkit.Message) {
				t.Helper()
				require.Len(t, list[1].Text(), 20_000)
			},
		},
		{
			name: "id of a call", reply: testkit.ToolCalls(call(strings.Repeat("i", huge), "ls", map[string]any{"description": "d", "path": "/mnt/user-data"})), want: "success",
			check: func(t *testing.T, list []testkit.Message) {
				t.Helper()
				require.Less(t, len(list[1].ToolCalls[0].ID), 256)
			},
		},
		{name: "name of a call", reply: testkit.ToolCalls(call("n", strings.Repeat("n", huge), map[string]any{})), want: "success"},
		{name: "calls", reply: calls(2000, func(i int) testkit.Call {
			return call(fmt.Sprintf("c%d", i), "ls", map[string]any{"description": strings.Repeat("d", 150), "path": "/mnt/user-data"})
		}), want: "success", check: func(t *testing.T, list []testkit.Message) {
			t.Helper()
			refused := list[len(list)-2]
			require.Equal(t, "tool", refused.Type)
			require.Contains(t, refused.Text(), "one message may have 400 calls, this one has 2000")
		}},
		{name: "choices", reply: testkit.ToolCalls(ask("o", "Which?", map[string]any{"options": options})), want: "success"},
		{
			name: "a wide question", reply: testkit.ToolCalls(ask("w", strings.Repeat("问", 4000), map[string]any{"context": strings.Repeat("题", 4000), "options": options})), want: "success",
			check: func(t *testing.T, list []testkit.Message) {
				t.Helper()
				require.Contains(t, list[2].Text(), "Ask in fewer words")
			},
		},
		{name: "questions", reply: calls(50, func(i int) testkit.Call {
			return ask(fmt.Sprintf("q%d", i), strings.Repeat("why ", 900), map[string]any{"options": options[:100]})
		}), want: "success", check: func(t *testing.T, list []testkit.Message) {
			t.Helper()
			refused := 0
			for _, m := range list {
				if strings.Contains(m.Text(), "this one was not asked") {
					refused++
				}
			}
			require.Equal(t, 47, refused)
		}},
		{
			name: "error text", reply: testkit.APIError(http.StatusBadRequest, strings.Repeat("c", huge), strings.Repeat("no ", huge/3)), want: "error",
			check: func(t *testing.T, list []testkit.Message) {
				t.Helper()
				require.Less(t, len(list[1].Text()), 2000)
			},
		},
	}
	m := testkit.NewModel(t, testkit.WithThinking(), testkit.WithoutRules("V9"))
	for _, tt := range tests {
		m.On(testkit.LastUser("send: " + tt.name)).Respond(testkit.ByTurn(tt.reply, testkit.Text("fine")))
	}
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m, "loop_detection:\n  enabled: false")})
	ids := map[string]string{}
	for _, tt := range tests {
		ids[tt.name] = newThread(t, p.API())
		r := run(t, p.API(), ids[tt.name], testkit.SayWatched("send: "+tt.name))
		require.Equal(t, tt.want, r.Status, tt.name)
		if tt.check != nil {
			tt.check(t, messages(t, p.API(), ids[tt.name]))
		}
	}
	p = p.Restart()
	for _, tt := range tests {
		state, err := p.API().State(patient(t), ids[tt.name])
		require.NoError(t, err)
		require.Equal(t, "success", run(t, p.API(), ids[tt.name], testkit.SayWatched("and now?")).Status, "%s: %v", tt.name, state.Next)
		list := messages(t, p.API(), ids[tt.name])
		require.Equal(t, "fine", list[len(list)-1].Text(), tt.name)
	}
}

// M01: what a client sends is bounded before it travels, and the refusal names
// what was too big.
func TestM01WhatAClientSends(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	long := strings.Repeat("x", huge)
	with := func(change func(*testkit.RunRequest)) testkit.RunRequest {
		r := testkit.SayWatched("hello")
		change(&r)
		return r
	}
	list := func(n int, item any) testkit.RunRequest {
		items := make([]any, n)
		for i := range items {
			items[i] = item
		}
		return testkit.RunRequest{Input: map[string]any{"messages": items}}
	}
	small := map[string]any{"role": "user", "content": "x"}
	calls := make([]any, 3000)
	for i := range calls {
		calls[i] = map[string]any{"id": fmt.Sprint(i), "name": "ls", "args": map[string]any{}, "type": "tool_call"}
	}
	for _, tt := range []struct {
		name    string
		request testkit.RunRequest
		status  int
		says    string
	}{
		{"text over the cap", testkit.SayWatched(strings.Repeat("x", 25<<20)), http.StatusRequestEntityTooLarge, "25 MiB"},
		{"reasoning effort", with(func(r *testkit.RunRequest) { r.Context = map[string]any{"reasoning_effort": long} }), http.StatusUnprocessableEntity, "reasoning_effort"},
		{"mode", with(func(r *testkit.RunRequest) { r.Context = map[string]any{"mode": long} }), http.StatusUnprocessableEntity, "mode"},
		{"agent", with(func(r *testkit.RunRequest) { r.Context = map[string]any{"agent_name": long} }), http.StatusUnprocessableEntity, "agent_name"},
		{"assistant", with(func(r *testkit.RunRequest) { r.AssistantID = long }), http.StatusUnprocessableEntity, "assistant_id"},
		{"model", with(func(r *testkit.RunRequest) { r.Context = map[string]any{"model_name": long} }), http.StatusBadRequest, "allowlist"},
		{"metadata", with(func(r *testkit.RunRequest) { r.Metadata = map[string]any{"note": long} }), http.StatusRequestEntityTooLarge, "metadata"},
		{"context", with(func(r *testkit.RunRequest) { r.Context = map[string]any{"note": long} }), http.StatusRequestEntityTooLarge, "context"},
		{"config", with(func(r *testkit.RunRequest) { r.Config = map[string]any{"configurable": map[string]any{"note": long}} }), http.StatusRequestEntityTooLarge, "config"},
		{"messages", list(100_000, small), http.StatusRequestEntityTooLarge, "100000 messages"},
		{"id of a message", list(1, map[string]any{"role": "user", "content": "x", "id": long}), http.StatusBadRequest, "id"},
		{"calls of a message", list(1, map[string]any{"role": "assistant", "content": "", "tool_calls": calls}), http.StatusRequestEntityTooLarge, "tool calls"},
		{"id of a call", list(1, map[string]any{"role": "tool", "content": "x", "tool_call_id": long}), http.StatusBadRequest, "tool_call_id"},
	} {
		id := newThread(t, api)
		_, err := api.CreateRun(patient(t), id, tt.request)
		require.Equal(t, tt.status, testkit.StatusOf(err), "%s: %.300v", tt.name, err)
		require.ErrorContains(t, err, tt.says, tt.name)
		require.Less(t, len(err.Error()), 4000, tt.name)
		runs, err := api.Runs(patient(t), id)
		require.NoError(t, err)
		require.Empty(t, runs, "%s: what was refused is not there", tt.name)
	}
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, testkit.SayWatched(long)).Status, "E11: under the cap it is accepted")
	paths := make([]string, 5000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/mnt/user-data/outputs/%d.md", i)
	}
	for name, values := range map[string]map[string]any{
		"title":     {"title": long},
		"artifacts": {"artifacts": paths},
		"messages":  {"messages": []any{map[string]any{"role": "user", "content": long}}},
	} {
		err := api.UpdateState(patient(t), id, values)
		require.Contains(t, []int{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, testkit.StatusOf(err), "%s: %.300v", name, err)
		require.ErrorContains(t, err, name[:5])
	}
	require.Equal(t, "success", run(t, api, id, testkit.SayWatched("and now?")).Status)
}

// M01: an answer by hand, from the side of Temporal.
func TestM01AnswersByHand(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("ask")).Always(testkit.ToolCalls(call("q", "ask_clarification", map[string]any{"question": "Which?", "clarification_type": "missing_info"})))
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	id := newThread(t, p.API())
	require.Equal(t, "success", run(t, p.API(), id, testkit.SayWatched("ask")).Status)
	c := dial(t, p.Temporal)
	workflow := thread.WorkflowID(id)
	signal := func(bytes int) error {
		return c.SignalWorkflow(patient(t), workflow, "", step.SignalAnswer, step.Answer{Text: strings.Repeat("x", bytes)})
	}
	require.Error(t, signal(huge), "Temporal itself refuses it")
	require.NoError(t, signal(1<<20))
	require.Eventually(t, func() bool {
		value, err := c.QueryWorkflow(patient(t), workflow, "", step.QueryStatus)
		require.NoError(t, err)
		var report struct {
			Notice string `json:"notice"`
		}
		require.NoError(t, value.Get(&report))
		return strings.Contains(report.Notice, "1048576 bytes")
	}, patience, tick, "the thread says why the answer was not taken")
	require.NoError(t, signal(4<<10))
	require.Eventually(t, func() bool {
		list := messages(t, p.API(), id)
		return list[len(list)-1].Text() == "fine"
	}, patience, tick)
}
