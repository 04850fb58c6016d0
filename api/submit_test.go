package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

const runsPath = "/threads/t/runs"

// hi is the body of a plain run with more fields.
func hi(more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"hi"}]}` + more + `}`
}

func TestCreateRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	status, header, body := e.do(t, "POST", runsPath, hi(`"metadata":{"k":"v"},"config":{"recursion_limit":5000}`), nil)
	require.Equal(t, http.StatusOK, status, body)
	var run runShape
	require.NoError(t, json.Unmarshal([]byte(body), &run))
	require.Equal(t, "/threads/t/runs/"+run.RunID, header.Get("Content-Location"))
	require.Equal(t, "lead_agent", run.AssistantID)
	require.Equal(t, thread.MultitaskReject, run.Multitask)
	require.JSONEq(t, `{"k":"v"}`, string(run.Metadata))
	require.Contains(t, body, `"stop_reason":null`)
	require.NotContains(t, string(run.Kwargs), "hi", "the input stands in the transcript")

	submitted := e.threads.submissions()
	require.Len(t, submitted, 1)
	require.Equal(t, step.SubmitRun{
		RunID: run.RunID, Multitask: thread.MultitaskReject, Options: thread.RunOptions{RecursionLimit: 1000}, Messages: 1,
	}, submitted[0])
	stored, err := e.store.GetRun(e.ctx, "t", run.RunID)
	require.NoError(t, err)
	var again step.SubmitRun
	require.NoError(t, json.Unmarshal(stored.Submit, &again))
	require.Equal(t, submitted[0], again, "what is sent again after a crash is the same")

	e.check(t, scenario{method: "GET", path: runsPath + "/" + run.RunID, status: 200, want: []string{`"status":"pending"`}})
	e.check(t, scenario{method: "GET", path: runsPath + "/nope", status: 404, want: []string{"Run nope not found"}})
	e.check(t, scenario{method: "GET", path: runsPath + "?status=running", status: 200, want: []string{"[]"}})
	e.check(t, scenario{method: "GET", path: runsPath + "?status=odd", status: 422, want: []string{`["query","status"]`}})
	e.check(t, scenario{method: "GET", path: runsPath + "?limit=0", status: 422})
	e.check(t, scenario{method: "GET", path: runsPath + "?limit=ten", status: 422})
	e.check(t, scenario{method: "GET", path: runsPath + "?select=run_id", status: 200, want: []string{`[{"run_id":"` + run.RunID + `"}]`}})
}

// TestE09RunFields sends what SDKs send by default, and what nobody can do.
func TestE09RunFields(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	accepted := map[string]string{
		"SDK 1.6 defaults":  `"stream_mode":"values","stream_subgraphs":false,"stream_resumable":false,"webhook":null,"if_not_exists":"create","multitask_strategy":null,"on_disconnect":null,"interrupt_before":null,"interrupt_after":[],"checkpoint":null,"checkpoint_id":null,"durability":null,"after_seconds":null,"feedback_keys":[ ]`,
		"SDK 1.15 queue":    `"stream_resumable":true,"multitask_strategy":"enqueue","on_completion":"keep"`,
		"list of modes":     `"stream_mode":["messages-tuple","values","updates","custom"]`,
		"rare modes":        `"stream_mode":["messages","tasks","checkpoints","debug"]`,
		"empty list":        `"stream_mode":[]`,
		"durability":        `"durability":"sync","checkpoint_during":true`,
		"unknown keys":      `"brand_new_key":{"a":[1]}`,
		"UI context":        `"context":{"model_name":"demo","mode":"ultra","reasoning_effort":"high","thinking_enabled":true,"is_plan_mode":true,"subagent_enabled":true,"thread_id":"x"},"on_disconnect":"continue"`,
		"odd limit":         `"config":{"recursion_limit":"many"}`,
		"rollback":          `"multitask_strategy":"rollback"`,
		"interrupt":         `"multitask_strategy":"interrupt"`,
		"upper case agent":  `"assistant_id":"My_Agent"`,
		"command all null":  `"command":{"resume":null,"goto":null,"update":null}`,
		"langsmith off":     `"langsmith_tracer":null`,
		"config with model": `"config":{"configurable":{"model_name":"big","thread_id":"t"}}`,
	}
	for name, fields := range accepted {
		id := thread.MessageID("accepted", len(e.threads.submissions()))
		e.thread(t, id)
		path := "/threads/" + id + "/runs"
		status, _, body := e.do(t, "POST", path, hi(fields), nil)
		require.Equal(t, http.StatusOK, status, "%s: %s", name, body)
	}
	before := len(e.threads.submissions())
	require.Equal(t, len(accepted), before)

	e.thread(t, "t")
	for field, value := range map[string]string{
		"stream_mode": `"events"`, "webhook": `"https://x.example"`, "after_seconds": `5`, "interrupt_before": `"*"`,
		"interrupt_after": `["tools"]`, "feedback_keys": `["a"]`, "multitask_strategy": `"sometimes"`, "on_disconnect": `"explode"`,
		"if_not_exists": `"maybe"`, "durability": `"never"`, "on_completion": `"delete"`, "assistant_id": `"a/b"`,
		"metadata": `"text"`, "config": `[]`, "stream_resumable": `"yes"`, "langsmith_tracer": `{"a":1}`,
	} {
		e.check(t, scenario{method: "POST", path: runsPath, body: hi(`"` + field + `":` + value), status: 422, want: []string{`"loc":["body","` + field}})
	}
	for _, s := range []scenario{
		{body: hi(`"stream_mode":["values","lifecycle"]`), status: 422, want: []string{"lifecycle", "'values'"}},
		{body: hi(`"command":{"goto":"tools"}`), status: 422, want: []string{`["body","command","goto"]`}},
		{body: hi(`"command":{"update":{"title":"x"}}`), status: 422, want: []string{`["body","command","update"]`}},
		{body: hi(`"context":{"thinking_enabled":"yes"}`), status: 422, want: []string{`["body","context","thinking_enabled"]`}},
		{body: hi(`"context":{"agent_name":"a b"}`), status: 422, want: []string{"agent_name"}},
		{body: hi(`"context":{"max_total_subagents":"six"}`), status: 422, want: []string{"max_total_subagents"}},
		{body: hi(`"context":{"model_name":"gpt-99"}`), status: 400, want: []string{"Model 'gpt-99' is not in the configured model allowlist"}},
		{body: hi(`"context":{"model_name":"gpt-99"},"stream_mode":"events","webhook":"x"`), status: 422, want: []string{"stream_mode", "webhook"}},
		{body: `{"input":null}`, status: 422, want: []string{`["body","input","messages"]`}},
		{body: `{}`, status: 422, want: []string{"At least one message"}},
		{body: `{"input":{"messages":[]}}`, status: 422},
		{body: `{"input":"hi"}`, status: 422, want: []string{`["body","input"]`}},
		{body: `{"input":{"messages":["hi"],"title":"mine"}}`, status: 422, want: []string{`["body","input","title"]`}},
		{body: hi(`"checkpoint_id":"nope"`), status: 404, want: []string{"Checkpoint nope not found"}},
		{body: hi(`"checkpoint":{"thread_id":"other","checkpoint_id":"x"}`), status: 400, want: []string{"other"}},
		{body: hi(""), header: map[string]string{"Idempotency-Key": strings.Repeat("k", 256)}, status: 422, want: []string{`"header"`}},
	} {
		s.method, s.path = "POST", runsPath
		e.check(t, s)
	}
	e.check(t, scenario{method: "POST", path: "/threads/new/runs", body: hi(""), status: 404, want: []string{"Thread new not found"}})
	e.check(t, scenario{method: "POST", path: "/threads/a.b/runs", body: hi(`"if_not_exists":"create"`), status: 422})
	require.Len(t, e.threads.submissions(), before, "nothing that was refused got through")
	runs, err := e.store.ListRuns(e.ctx, "t", store.RunQuery{})
	require.NoError(t, err)
	require.Empty(t, runs)
}

func TestRunOptions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	e.check(t, scenario{method: "POST", path: runsPath, status: 200, body: hi(
		`"assistant_id":"Deep_Search","config":{"recursion_limit":7,"configurable":{"model_name":"demo","thinking_enabled":false}},
		"context":{"model_name":"big","mode":"pro","is_plan_mode":true,"max_total_subagents":400,"max_concurrent_subagents":0,"disable_clarification":true,"non_interactive":true,"other":1,"subagent_enabled":true,"timezone":"Asia/Tokyo"}`)})
	for _, odd := range []string{`7`, `null`, `{}`, `"` + strings.Repeat("x", 65) + `"`} {
		require.Empty(t, timeZone(object{raw: map[string]json.RawMessage{"timezone": json.RawMessage(odd)}}), odd)
	}
	off := false
	require.Equal(t, thread.RunOptions{
		AgentName: "deep-search", Model: "big", ThinkingEnabled: &off, DisableClarification: true, RecursionLimit: 7, TimeZone: "Asia/Tokyo",
		PlanMode: true, Subagents: true, MaxSubagents: 1, MaxSubagentsTotal: 50,
		Extra: json.RawMessage(`{"mode":"pro"}`),
	}, e.threads.submissions()[0].Options)
}

func TestHeadCheckpointIsAPlainAppend(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	first := p.parent
	p.turn(e.say(t, "t", "two"), "2")
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(`"checkpoint":{"checkpoint_ns":"","checkpoint_id":"` + p.parent + `","checkpoint_map":{}}`), status: 200})
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(`"checkpoint_id":"` + first + `"`), status: 422, want: []string{`["body","checkpoint_id"]`}})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	active := e.say(t, "t", "first")
	for _, s := range []struct {
		err    error
		status int
		want   []string
	}{
		{&threadclient.RefusedError{Type: step.ErrBusy, Reason: "busy"}, 409, []string{`"detail":"Thread t already has an active run"`, `"run_id":"` + active}},
		{&threadclient.RefusedError{Type: step.ErrRunRefused, Reason: "no such agent"}, 422, []string{"no such agent"}},
		{&threadclient.RefusedError{Type: step.ErrInvalid, Reason: "odd"}, 422, []string{"odd"}},
		{&threadclient.RefusedError{Type: step.ErrNoQuestion, Reason: "nothing asked"}, 409, []string{"nothing asked"}},
		{&threadclient.RefusedError{Type: step.ErrThreadGone, Reason: "gone"}, 404, []string{"Thread t not found"}},
		{threadclient.ErrUnavailable, 503, []string{"Temporal is not available"}},
		{errors.New("secret of the wire"), 500, []string{"Internal error", "request_id"}},
	} {
		e.threads.submit = func(string, step.SubmitRun) error { return s.err }
		e.check(t, scenario{method: "POST", path: runsPath, body: hi(""), status: s.status, want: s.want, wantNot: []string{"secret of the wire"}})
		e.check(t, scenario{method: "POST", path: runsPath + "/stream", body: hi(""), status: s.status, want: s.want})
		e.check(t, scenario{method: "POST", path: runsPath + "/wait", body: hi(""), status: s.status, want: s.want})
		runs, err := e.store.ListRuns(e.ctx, "t", store.RunQuery{})
		require.NoError(t, err)
		require.Len(t, runs, 1, "a refused run leaves nothing")
		view, err := e.store.View(e.ctx, "t", viewNow())
		require.NoError(t, err)
		require.Len(t, view.Rows, 1, "nor its message")
	}
}

// Without a worker a run is kept for later, unless its thread is going to refuse
// it: what is acknowledged is not taken back.
func TestNoWorkerHears(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	e.threads.submit = func(string, step.SubmitRun) error { return threadclient.ErrNoWorker }
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(""), status: 200, want: []string{`"status":"pending"`}})
	first, err := e.store.ListRuns(e.ctx, "t", store.RunQuery{})
	require.NoError(t, err)
	require.Len(t, first, 1)
	for _, strategy := range []string{"", `"multitask_strategy":"reject"`} {
		e.check(t, scenario{method: "POST", path: runsPath, body: hi(strategy), status: 409, want: []string{"already has an active run", first[0].ID}})
	}
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(`"multitask_strategy":"enqueue"`), status: 200, want: []string{`"status":"pending"`}})
	runs, err := e.store.ListRuns(e.ctx, "t", store.RunQuery{})
	require.NoError(t, err)
	require.Len(t, runs, 2, "a refused run leaves nothing")
}

func TestTemporalAwayIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.TemporalHealth = func(ctxT) error { return errors.New("connection refused") } })
	e.thread(t, "t")
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(""), status: 503, want: []string{"Temporal"}, headers: map[string]string{"Retry-After": "1"}})
	require.Empty(t, e.threads.submissions())
}

func TestRunTakenUpDespiteARefusal(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	e.thread(t, "t")
	e.threads.submit = func(_ string, s step.SubmitRun) error { // the answer was lost, the run was not
		p.start(s.RunID)
		return threadclient.ErrUnavailable
	}
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(""), status: 200})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	e.thread(t, "t")
	key := map[string]string{"Idempotency-Key": "k1"}
	var first, second runShape
	_, _, body := e.do(t, "POST", runsPath, hi(""), key)
	require.NoError(t, json.Unmarshal([]byte(body), &first))
	_, _, body = e.do(t, "POST", runsPath, hi(""), key)
	require.NoError(t, json.Unmarshal([]byte(body), &second))
	require.Equal(t, first.RunID, second.RunID)
	require.Len(t, e.threads.submissions(), 2, "while it is pending it is handed over again")
	require.Equal(t, first.RunID, e.threads.submissions()[1].RunID)

	p.start(first.RunID)
	p.ask(question("call_1"))
	_, _, body = e.do(t, "POST", runsPath, hi(""), key)
	require.Contains(t, body, first.RunID)
	require.Len(t, e.threads.submissions(), 2)

	resume := `{"command":{"resume":"2026"}}`
	answer := map[string]string{"Idempotency-Key": "k2"}
	status, _, body := e.do(t, "POST", runsPath, resume, answer)
	require.Equal(t, 200, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &second))
	p.start(second.RunID, "clarification:call_1")
	status, _, body = e.do(t, "POST", runsPath, resume, answer)
	require.Equal(t, 200, status, "the question is closed, but this is the same answer: %s", body)
	require.Contains(t, body, second.RunID)
	status, _, body = e.do(t, "POST", runsPath, resume, nil)
	require.Equal(t, 409, status, body)
}

func TestE11LongPrompts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	status, _, body := e.do(t, "POST", runsPath, `{"input":{"messages":["`+strings.Repeat("x", 3<<20)+`"]}}`, nil)
	require.Equal(t, 200, status, body)
	view, err := e.store.View(e.ctx, "t", viewNow())
	require.NoError(t, err)
	require.Len(t, view.Rows[0].Message.Content.String(), 3<<20)
	raw, err := json.Marshal(e.threads.submissions()[0])
	require.NoError(t, err)
	require.Less(t, len(raw), 1024, "Temporal never sees the text")

	status, header, body := e.do(t, "POST", runsPath, `{"input":{"messages":["`+strings.Repeat("x", 25<<20)+`"]}}`, nil)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, header.Get("Content-Type"), "application/json")
	require.Contains(t, body, "25 MiB")
	require.Len(t, e.threads.submissions(), 1)
}

func TestInputMessages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	for _, s := range []struct{ messages, want string }{
		{`[{"role":"user","content":"a"},{"content":"b"}]`, "input.messages[1]: it has neither role nor type"},
		{`[{"role":"user"}]`, "input.messages[0]: it has no content"},
		{`[{"role":"wizard","content":"a"}]`, "wizard"},
		{`[{"type":"remove","id":"x"}]`, "remove"},
		{`[{"role":"user","content":5}]`, "input.messages[0]"},
		{`[{"role":"user","content":[5]}]`, "input.messages[0]"},
		{`[{"role":"user","content":"a","id":5}]`, "id should not be a number"},
		{`[{"role":"user","content":"a","additional_kwargs":[]}]`, "additional_kwargs"},
		{`[{"role":"tool","content":"a"}]`, "tool_call_id"},
		{`[{"role":"user","content":"a","tool_calls":[{"name":"x","args":{},"id":"1"}]}]`, "only an ai message"},
		{`[{"role":"user","content":"a","id":"x"},{"role":"user","content":"b","id":"x"}]`, "twice"},
		{`[{"role":"user","content":"a","id":"` + strings.Repeat("x", 300) + `"}]`, "255"},
		{`[["user"]]`, "pair"},
		{`[7]`, "object"},
		{`[{"lc":1,"type":"constructor","id":["HumanMessage"]}]`, "kwargs"},
	} {
		e.check(t, scenario{
			method: "POST", path: runsPath, body: `{"input":{"messages":` + s.messages + `}}`, status: 400,
			want: []string{`"detail":"Invalid message at input.messages[`, s.want},
		})
	}
	e.check(t, scenario{method: "POST", path: runsPath, body: `{"input":{"messages":5}}`, status: 400})

	e.check(t, scenario{method: "POST", path: runsPath, status: 200, body: `{"input":{"messages":[
		{"type":"human","content":[{"type":"text","text":"hello"},{"type":"image_url","image_url":{"url":"data:x"}}],"id":"mine","additional_kwargs":{
			"files":[{"filename":"a"}],"original_user_content":"forged","deerflow_error_fallback":true,"run_id":"forged","dynamic_context_reminder":true}},
		["system","be nice"], "just text",
		{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"ls","args":{},"id":"c1","type":"tool_call"}]}},
		{"role":"tool","content":"out","tool_call_id":"c1","name":"ls","id":null}]}}`})
	view, err := e.store.View(e.ctx, "t", viewNow())
	require.NoError(t, err)
	var roles []thread.Role
	ids := map[string]bool{}
	for _, row := range view.Rows {
		roles = append(roles, row.Message.Role)
		ids[row.ID] = true
	}
	require.Equal(t, []thread.Role{"human", "system", "human", "ai", "tool"}, roles)
	require.Len(t, ids, 5)
	require.Equal(t, "mine", view.Rows[0].ID, "a client's id is kept")
	kwargs := view.Rows[0].Message.AdditionalKwargs
	require.Len(t, kwargs, 1, "only files is the client's to set: %v", kwargs)
	require.Contains(t, kwargs, "files")
	require.Equal(t, "ls", view.Rows[3].Message.ToolCalls[0].Name)
}

// TestE08MultitaskPassesThrough: what happens to the other run is the thread's
// matter; it must hear what was asked for.
func TestE08MultitaskPassesThrough(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, strategy := range []thread.Multitask{"reject", "interrupt", "rollback", "enqueue"} {
		request := testkit.Say("x")
		request.MultitaskStrategy, request.IfNotExists = string(strategy), "create"
		run, err := e.root.CreateRun(e.ctx, "t-"+string(strategy), request)
		require.NoError(t, err)
		all := e.threads.submissions()
		require.Equal(t, strategy, all[len(all)-1].Multitask)
		require.Equal(t, run.RunID, all[len(all)-1].RunID)
	}
}
