package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

func TestCompact(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "one"), "1")
	p.commit(func(in *step.CommitInput) { in.Status, in.Next = thread.StatusIdle, nil })
	var got []step.Compact
	var out step.CompactResult
	var refuse error
	e.threads.compact = func(_ string, k step.Compact) (step.CompactResult, error) {
		got = append(got, k)
		return out, refuse
	}
	const path = "/threads/t/compact"
	out = step.CompactResult{Compacted: true, Removed: 4, Preserved: 2, SummaryUpdated: true, CheckpointID: "c1", TotalTokens: 99}
	for _, prefix := range []string{"", "/api", "/api/langgraph"} {
		e.check(t, scenario{method: "POST", path: prefix + path, status: 200, want: []string{
			`{"thread_id":"t","compacted":true,"reason":null,"removed_message_count":4,"preserved_message_count":2,"summary_updated":true,"checkpoint_id":"c1","total_tokens":99}`,
		}})
	}
	require.True(t, got[0].Force, "by default")
	require.True(t, thread.IsUpdate(got[0].ID))
	out = step.CompactResult{Reason: "not_enough_messages", Preserved: 2}
	e.check(t, scenario{method: "POST", path: path, status: 200, body: `{"force":false,"keep":3,"model_name":"m","agent_name":"a-b"}`, want: []string{
		`"compacted":false,"reason":"not_enough_messages"`, `"checkpoint_id":null`,
	}})
	last := got[len(got)-1]
	last.ID = ""
	require.Equal(t, step.Compact{Keep: 3, Model: "m", Options: thread.RunOptions{AgentName: "a-b"}}, last)
	sent := len(got)
	for _, s := range []scenario{
		{body: `{"keep":0}`, status: 422, want: []string{`["body","keep"]`}},
		{body: `{"force":"yes"}`, status: 422, want: []string{`["body","force"]`}},
		{body: `{"agent_name":"../x"}`, status: 422, want: []string{`["body","agent_name"]`}},
		{body: `[]`, status: 422},
	} {
		s.method, s.path = "POST", path
		e.check(t, s)
	}
	e.check(t, scenario{method: "POST", path: "/threads/none/compact", status: 404, want: []string{"Thread none not found"}})
	require.Len(t, got, sent)
	for _, tc := range []struct {
		err    error
		status int
		want   string
	}{
		{&threadclient.RefusedError{Type: step.ErrInvalid, Reason: "Summarization is disabled"}, 422, "Summarization is disabled"},
		{&threadclient.RefusedError{Type: step.ErrNoSummary, Reason: "no model wrote it"}, 500, "no model wrote it"},
		{&threadclient.RefusedError{Type: step.ErrBusy, Reason: "busy"}, 409, "run in flight"},
		{&threadclient.RefusedError{Type: step.ErrThreadGone, Reason: "gone"}, 404, "not found"},
		{threadclient.ErrNoWorker, 503, "it may still be done"},
		{threadclient.ErrUnavailable, 503, "Temporal is not available"},
	} {
		refuse = tc.err
		e.check(t, scenario{method: "POST", path: path, status: tc.status, want: []string{tc.want}})
	}
	sent = len(got)
	run := e.say(t, "t", "two")
	e.check(t, scenario{method: "POST", path: path, status: 409, want: []string{"run in flight", run}})
	require.Len(t, got, sent)
}

// Clients cannot send what only models are to read.
func TestNoClientMakesASummary(t *testing.T) {
	t.Parallel()
	m, err := parseMessage(json.RawMessage(`{"role":"user","content":"x","name":"summary","additional_kwargs":{"deerflow_summary":true}}`))
	require.NoError(t, err)
	require.False(t, m.IsSummary())
}
