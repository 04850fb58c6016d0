package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestUpdateState(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	e.threads.update = func(_ string, u step.UpdateState) error {
		p.run, p.step = u.ID, 0
		var changed thread.StateUpdate
		changed.Title = u.Title
		p.commit(update(changed), func(in *step.CommitInput) { in.Status, in.Next = thread.StatusIdle, nil })
		return nil
	}
	const path = "/threads/t/state"
	e.check(t, scenario{
		method: "POST", path: path, body: `{"values":{"title":" Mine "},"as_node":"model","checkpoint":null}`, status: 200,
		want: []string{`"title":"Mine"`, `"checkpoint_id":"`, `"source":"update"`, `"checkpoint_ns":""`}, wantNot: []string{thread.UpdatePrefix},
	})
	e.check(t, scenario{method: "POST", path: path, status: 200, body: `{"values":{"messages":[
		{"type":"remove","id":"gone"},{"role":"user","content":"more"}],"artifacts":["/mnt/user-data/outputs/a.md"]}}`})
	last := e.threads.updated[len(e.threads.updated)-1]
	require.Equal(t, []string{"gone"}, last.Remove)
	require.Equal(t, []string{"/mnt/user-data/outputs/a.md"}, last.Artifacts.Paths)
	require.Equal(t, "more", last.Messages[0].Content.String())
	e.check(t, scenario{method: "POST", path: path, status: 200, body: `{"values":{"messages":[{"type":"remove","id":"a"},{"type":"remove","id":"__remove_all__"}]}}`})
	last = e.threads.updated[len(e.threads.updated)-1]
	require.True(t, last.Clear)
	require.Empty(t, last.Messages)
	require.Empty(t, last.Remove)
	sent := len(e.threads.updated)
	for _, s := range []scenario{
		{body: `{"values":{"todos":[],"b":1,"title":"x"}}`, status: 422, want: []string{"Unknown thread-state field(s): b, todos"}},
		{body: `{"values":{"title":5}}`, status: 422, want: []string{`["body","values","title"]`}},
		{body: `{"values":{"title":"` + strings.Repeat("t", maxTitle+1) + `"}}`, status: 422, want: []string{"1000 characters"}},
		{body: `{"values":[]}`, status: 422, want: []string{`["body","values"]`}},
		{body: `{"values":{"messages":[{"role":"wizard","content":"x"}]}}`, status: 400, want: []string{"values.messages[0]"}},
		{body: `{"values":{"messages":"` + strings.Repeat("m", maxUpdate) + `"}}`, status: 413, want: []string{"64 KiB"}},
		{body: `{"values":{"title":"x"},"checkpoint_id":"nope"}`, status: 404, want: []string{"Checkpoint nope not found"}},
		{body: `{"values":{"title":"x"},"checkpoint":{"thread_id":"other","checkpoint_id":"x"}}`, status: 400},
	} {
		s.method, s.path = "POST", path
		e.check(t, s)
	}
	e.check(t, scenario{method: "POST", path: "/threads/none/state", body: `{"values":{"title":"x"}}`, status: 404})
	run := e.say(t, "t", "two")
	e.check(t, scenario{method: "POST", path: path, body: `{"values":{"title":"x"}}`, status: 409, want: []string{"run in flight", run}})
	require.Len(t, e.threads.updated, sent, "nothing that was refused got through")
}

func TestUpdateStateRefusedByTheThread(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	for kind, status := range map[string]int{step.ErrBusy: 409, step.ErrThreadGone: 404, step.ErrInvalid: 422} {
		e.threads.update = func(string, step.UpdateState) error { return refused(kind) }
		e.check(t, scenario{method: "POST", path: "/threads/t/state", body: `{"values":{"title":"x"}}`, status: status})
	}
	e.threads.update = func(string, step.UpdateState) error { return unavailableTemporal() }
	e.check(t, scenario{method: "POST", path: "/threads/t/state", body: `{"values":{}}`, status: 503, want: []string{"Temporal is not available"}})
	e.threads.update = func(string, step.UpdateState) error { return noWorker() }
	e.check(t, scenario{method: "POST", path: "/threads/t/state", body: `{"values":{}}`, status: 503, want: []string{"may still be done"}})
}

func TestStateAtACheckpoint(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	first := p.parent
	p.turn(e.say(t, "t", "two"), "2")
	for _, prefix := range []string{"", "/api"} {
		for _, s := range []scenario{
			{method: "GET", path: "/threads/t/state/" + first, status: 200, want: []string{`"one"`, first}, wantNot: []string{`"two"`}},
			{method: "GET", path: "/threads/t/state/" + p.parent, status: 200, want: []string{`"one"`, `"two"`, `"parent_checkpoint":{`}},
			{method: "GET", path: "/threads/t/state/nope", status: 404, want: []string{"Checkpoint nope not found"}},
			{method: "GET", path: "/threads/none/state/" + first, status: 404},
			{method: "POST", path: "/threads/t/state/checkpoint", body: `{"checkpoint":{"checkpoint_id":"` + first + `","checkpoint_ns":"","thread_id":"t"}}`, status: 200, wantNot: []string{`"two"`}},
			{method: "POST", path: "/threads/t/state/checkpoint", body: `{"checkpoint":{"thread_id":"t"},"select":["next"]}`, status: 200, want: []string{`{"next":[]}`}},
			{method: "POST", path: "/threads/t/state/checkpoint", body: `{"checkpoint":{"thread_id":"other"}}`, status: 422},
			{method: "POST", path: "/threads/t/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"sub"}}`, status: 422, want: []string{"checkpoint_ns"}},
		} {
			s.path = prefix + s.path
			e.check(t, s)
		}
	}
}

func TestCountPruneAndCopy(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "one")
	e.check(t, scenario{method: "POST", path: "/threads/t/copy", status: 409, want: []string{"run in flight", run}})
	p.turn(run, "1")
	e.check(t, scenario{method: "POST", path: "/threads/count", body: `{"status":"idle"}`, status: 200, want: []string{"1"}})
	_, err := e.server.o.Files.Upload(e.ctx, FileOwner{User: defaultUser, Thread: "t"}, "a.txt", strings.NewReader("text"), 100)
	require.NoError(t, err)
	copied, err := e.root.CopyThread(e.ctx, "t")
	require.NoError(t, err)
	data, err := e.root.Artifact(e.ctx, copied.ThreadID, "/mnt/user-data/uploads/a.txt")
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	list, err := copied.Values.Messages()
	require.NoError(t, err)
	require.Len(t, list, 2)
	e.check(t, scenario{method: "POST", path: "/threads/none/copy", status: 404})
	e.check(t, scenario{method: "POST", path: "/threads/count", body: `{"status":"odd"}`, status: 422})

	e.check(t, scenario{method: "POST", path: "/threads/prune", body: `{"thread_ids":["t","none"]}`, status: 200, want: []string{`{"pruned_count":1}`}})
	e.check(t, scenario{method: "GET", path: "/threads/t", status: 404})
	e.check(t, scenario{method: "POST", path: "/threads/prune", body: `{"thread_ids":["t"],"strategy":"keep_latest"}`, status: 422, want: []string{"strategy"}})
	e.check(t, scenario{method: "GET", path: "/threads/" + copied.ThreadID + "/state", status: 200, want: []string{`"one"`}})
}
