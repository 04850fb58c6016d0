package api

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// playing answers every submission by playing a turn.
func (e *env) playing(t *testing.T) {
	t.Helper()
	e.threads.submit = func(threadID string, s step.SubmitRun) error {
		e.play(t, threadID).turn(s.RunID, "Hel", "lo")
		return nil
	}
}

// temporary are the threads that go with their runs.
func (e *env) temporary(t *testing.T) []store.Thread {
	t.Helper()
	list, _, err := e.store.SearchThreads(e.ctx, store.ThreadQuery{Metadata: map[string]any{temporaryKey: true}})
	require.NoError(t, err)
	return list
}

func TestRunsWithoutAThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.playing(t)
	e.check(t, scenario{method: "POST", path: "/runs/wait", body: hi(""), status: 200, want: []string{"Hello", `"messages"`}})
	e.check(t, scenario{method: "POST", path: "/api/runs/stream", body: hi(""), status: 200, want: []string{"event: values", "event: end"}})
	require.Eventually(t, func() bool { return len(e.temporary(t)) == 0 }, testTimeout, 5*time.Millisecond, "they go with their runs")
	for _, s := range e.threads.submissions() {
		require.True(t, s.Options.DisableClarification, "nobody could answer")
	}

	status, _, body := e.do(t, "POST", "/runs", hi(""), nil)
	require.Equal(t, http.StatusOK, status, body)
	var run runShape
	require.NoError(t, json.Unmarshal([]byte(body), &run))
	e.check(t, scenario{method: "GET", path: "/threads/" + run.ThreadID + "/runs/" + run.RunID + "/join", status: 200, want: []string{"Hello"}})
	e.check(t, scenario{method: "GET", path: "/runs/" + run.RunID + "/stream", status: 200, want: []string{"event: end"}})
	e.check(t, scenario{method: "GET", path: "/runs/nope/stream", status: 404, want: []string{"Run nope not found"}})

	status, _, body = e.do(t, "POST", "/runs/wait", hi(`"on_completion":"keep"`), nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Len(t, e.temporary(t), 1, "only the run in the background still has one")

	e.thread(t, "mine")
	e.check(t, scenario{method: "POST", path: "/runs/wait", body: hi(`"config":{"configurable":{"thread_id":"mine"}}`), status: 200})
	e.check(t, scenario{method: "GET", path: "/threads/mine/state", status: 200, want: []string{"Hello"}})
}

func TestRunsWithoutAThreadRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, s := range []scenario{
		{body: `{}`, status: 422},
		{body: `{"command":{"resume":"x"}}`, status: 422, want: []string{`["body","command","resume"]`}},
		{body: hi(`"on_completion":"explode"`), status: 422, want: []string{"on_completion"}},
		{body: hi(`"config":{"configurable":{"thread_id":"a b"}}`), status: 422, want: []string{"thread_id"}},
		{body: hi(`"webhook":"https://x.example"`), status: 422, want: []string{"webhook"}},
	} {
		s.method, s.path = "POST", "/runs"
		e.check(t, s)
	}
	e.threads.submit = func(string, step.SubmitRun) error { return unavailableTemporal() }
	e.check(t, scenario{method: "POST", path: "/runs/wait", body: hi(""), status: 503})
	require.Empty(t, e.temporary(t), "nothing stays of a run that was refused")
}

func TestBatch(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.check(t, scenario{method: "POST", path: "/runs/batch", body: "[" + hi("") + "," + hi("") + "]", status: 200, want: []string{`"run_id"`}})
	require.Len(t, e.threads.submissions(), 2)
	for _, s := range []scenario{
		{body: hi(""), status: 422, want: []string{"list of objects"}},
		{body: `[null]`, status: 422, want: []string{`["body",0]`}},
		{body: "[" + hi("") + `,{}]`, status: 422},
		{body: "[" + hi("") + "," + hi(`"webhook":"x"`) + "]", status: 422, want: []string{`["body",1,"webhook"]`}},
	} {
		s.method, s.path = "POST", "/runs/batch"
		e.check(t, s)
	}
	require.Len(t, e.threads.submissions(), 2, "none of a batch with a bad one is started")
	calls := 0
	e.threads.submit = func(string, step.SubmitRun) error {
		if calls++; calls == 2 {
			return unavailableTemporal()
		}
		return nil
	}
	e.check(t, scenario{method: "POST", path: "/runs/batch", body: "[" + hi("") + "," + hi("") + "]", status: 503})
	require.Len(t, e.threads.cancels(), 1, "the one before it is stopped")
}

func TestCancelMany(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	one, two := e.say(t, "a", "one"), e.say(t, "b", "two")
	e.play(t, "b").start(two)
	cancel := func(body string, status int, want ...string) {
		t.Helper()
		before := len(e.threads.cancels())
		e.check(t, scenario{method: "POST", path: "/runs/cancel?action=rollback", body: body, status: status})
		var runs []string
		for _, c := range e.threads.cancels()[before:] {
			require.Equal(t, thread.CancelRollback, c.Action)
			runs = append(runs, c.RunID)
		}
		require.Equal(t, want, runs, body)
	}
	cancel(`{"status":"all"}`, 204, one, two)
	cancel(`{"status":"pending"}`, 204, one)
	cancel(`{"status":"running","thread_id":"a"}`, 204)
	cancel(`{"run_ids":["`+two+`"]}`, 204, two)
	cancel(`{"run_ids":["`+two+`"],"thread_id":"a"}`, 404)
	cancel(`{"run_ids":["nope"]}`, 404)
	cancel(`{"thread_id":"a"}`, 422)
	cancel(`{"status":"success"}`, 422)
	cancel(`{"status":"all","run_ids":["x"]}`, 422)
	e.threads.cancel = func(string, step.CancelRun) error { return unavailableTemporal() }
	cancel(`{"status":"pending"}`, 503, one)
	e.threads.cancel = func(string, step.CancelRun) error { return refused(step.ErrNotCancellable) }
	cancel(`{"status":"pending"}`, 204, one)
	e.threads.cancel = func(string, step.CancelRun) error { return refused(step.ErrUnknownRun) }
	cancel(`{"status":"pending"}`, 204, one)
	cancel(`{"status":"pending"}`, 204)
}

func TestDeleteRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "one")
	e.check(t, scenario{method: "DELETE", path: runsPath + "/" + run, status: 409, want: []string{"has not ended"}})
	p.turn(run, "1")
	e.check(t, scenario{method: "DELETE", path: runsPath + "/" + run, status: 204})
	e.check(t, scenario{method: "DELETE", path: runsPath + "/" + run, status: 404})
	e.check(t, scenario{method: "GET", path: "/threads/t/state", status: 200, want: []string{`"one"`}})
	run = e.say(t, "t", "two")
	p.start(run)
	call := p.call("ask_clarification", `{"question":"Which year?"}`)
	p.tool(call, "Which year?")
	p.ask(question(call.ID))
	e.check(t, scenario{method: "DELETE", path: runsPath + "/" + run, status: 409, want: []string{"waits for an answer"}})
}

// A stream of a thread goes over its runs and can be taken up anywhere.
func TestThreadStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	s, err := e.root.JoinThread(e.ctx, "t", "")
	require.NoError(t, err)
	defer s.Close()
	p.turn(e.say(t, "t", "two"), "2a", "2b")
	p.turn(e.say(t, "t", "three"), "3")
	runs := 0
	frames, err := s.Until(e.ctx, func(f testkit.Frame) bool {
		if f.Event == frameRunDone {
			runs++
		}
		return runs == 2
	})
	require.NoError(t, err)
	require.Equal(t, "metadata values messages messages messages updates values run_done metadata values messages messages updates values run_done", events(frames))
	require.Contains(t, frames[len(frames)-1].Data, `"status":"success"`)
	for i := range frames {
		require.NotEmpty(t, frames[i].ID, frames[i].Event)
		if i == len(frames)-1 {
			continue
		}
		again, err := e.root.JoinThread(e.ctx, "t", frames[i].ID)
		require.NoError(t, err)
		for _, want := range frames[i+1:] {
			got, err := again.Next(e.ctx)
			require.NoError(t, err)
			require.Equal(t, []string{want.ID, want.Event, want.Data}, []string{got.ID, got.Event, got.Data}, "after frame %d", i)
		}
		again.Close()
	}
	for mode, want := range map[string]string{
		"lifecycle": "metadata run_done", "state_update": "metadata values values run_done",
	} {
		all, err := e.root.JoinThread(e.ctx, "t", "-1", mode)
		require.NoError(t, err)
		frames, err := all.Until(e.ctx, testkit.IsEvent(frameRunDone))
		require.NoError(t, err)
		require.Equal(t, want, events(frames), mode)
		all.Close()
	}
	e.check(t, scenario{method: "GET", path: "/threads/t/stream?stream_mode=odd", status: 422, want: []string{"stream_mode"}})
	e.check(t, scenario{method: "GET", path: "/threads/none/stream", status: 404})
}
