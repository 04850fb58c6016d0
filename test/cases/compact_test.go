package cases

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

type compaction struct {
	ThreadID       string `json:"thread_id"`
	Compacted      bool   `json:"compacted"`
	Reason         string `json:"reason"`
	Removed        int    `json:"removed_message_count"`
	Preserved      int    `json:"preserved_message_count"`
	SummaryUpdated bool   `json:"summary_updated"`
	CheckpointID   string `json:"checkpoint_id"`
	TotalTokens    int    `json:"total_tokens"`
}

func compact(t *testing.T, api *API, id string, body any) (compaction, error) {
	t.Helper()
	var out compaction
	_, err := api.Do(patient(t), http.MethodPost, "/threads/"+id+"/compact", body, &out)
	return out, err
}

// A person compacts a thread between runs. What the model reads holds over a
// restart and in a copy; updates of the state reach what was compacted away.
func TestCompactByHand(t *testing.T) {
	m := NewModel(t)
	m.On(asksForSummary).Always(Text("SUMMARY-WORDS"))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, summarization("{type: messages, value: 1000}", "{type: messages, value: 20}"))})
	api := p.API()
	id := newThread(t, api)
	out, err := compact(t, api, id, nil)
	require.NoError(t, err)
	require.Equal(t, "not_enough_messages", out.Reason)
	converse(t, api, id, "MARK-ONE", "two", "three")
	out, err = compact(t, api, id, map[string]any{"force": false, "keep": 2})
	require.NoError(t, err)
	require.Equal(t, "below_trigger", out.Reason)
	require.Empty(t, m.RequestsTo(asksForSummary))
	out, err = compact(t, api.WithPrefix("/api"), id, map[string]any{"keep": 2})
	require.NoError(t, err)
	require.True(t, out.Compacted && out.SummaryUpdated)
	require.Equal(t, []int{4, 2}, []int{out.Removed, out.Preserved})
	require.Equal(t, id, out.ThreadID)
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	require.Equal(t, out.CheckpointID, state.CheckpointID)
	require.Len(t, messages(t, api, id), 6)

	p.Stop()
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.db-shm"} {
		_ = os.Remove(filepath.Join(p.DataDir, name)) // the checkpoint alone knows of the compaction
	}
	p = restarted(p)
	api = p.API()
	copied, err := api.CopyThread(patient(t), id)
	require.NoError(t, err)
	for _, th := range []string{id, copied.ThreadID} {
		converse(t, api, th, "four")
		sent := m.RequestsTo(LastUser("four"))
		seen := all(sent[len(sent)-1])
		require.Contains(t, seen, "SUMMARY-WORDS")
		require.NotContains(t, seen, "MARK-ONE")
		require.Contains(t, seen, "three")
		require.Len(t, messages(t, api, th), 8)
	}
	first := messages(t, api, id)[0]
	require.NoError(t, api.UpdateState(patient(t), id, map[string]any{"messages": []any{
		map[string]any{"type": "remove", "id": first.ID},
	}}))
	list := messages(t, api, id)
	require.Len(t, list, 7)
	require.NotContains(t, mustJSON(list), "MARK-ONE")
	require.NoError(t, api.UpdateState(patient(t), id, map[string]any{"messages": []any{
		map[string]any{"type": "human", "id": list[1].ID, "content": "two, in other words"},
	}}))
	require.Equal(t, "two, in other words", messages(t, api, id)[1].Text())
	require.NoError(t, api.UpdateState(patient(t), id, map[string]any{"messages": []any{map[string]any{"type": "remove", "id": "__remove_all__"}}}))
	converse(t, api, id, "five")
	sent := m.RequestsTo(LastUser("five"))
	require.NotContains(t, all(sent[0]), "SUMMARY-WORDS")
	require.Len(t, messages(t, api, id), 2)
}

func TestCompactIsRefused(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	gate := NewGate()
	m.On(asksForSummary).Always(Text(""))
	m.On(LastUser("wait")).Respond(func(*Request) Reply { return Text("done").Before(Hold(gate)) })
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, summarization("{type: messages, value: 1000}", "{type: messages, value: 2}"))})
	api := p.API()
	var status *HTTPError
	_, err := compact(t, api, "none", nil)
	require.ErrorAs(t, err, &status)
	require.Equal(t, 404, status.Status)
	id := newThread(t, api)
	_, err = compact(t, api, id, map[string]any{"keep": "many"})
	require.ErrorAs(t, err, &status)
	require.Equal(t, 422, status.Status)
	converse(t, api, id, "one", "two")
	_, err = compact(t, api, id, nil)
	require.ErrorAs(t, err, &status)
	require.Equal(t, 500, status.Status)
	require.Contains(t, status.Error(), "wrote no summary")
	r, err := api.CreateRun(patient(t), id, SayWatched("wait"))
	require.NoError(t, err)
	_, err = m.AwaitMatch(patient(t), 1, LastUser("wait"))
	require.NoError(t, err)
	_, err = compact(t, api, id, nil)
	require.ErrorAs(t, err, &status)
	require.Equal(t, 409, status.Status)
	gate.Release()
	_, err = api.AwaitRun(patient(t), id, r.RunID, "success")
	require.NoError(t, err)
}

// A run that compacted the thread is rolled back: the model reads again what it
// read before.
func TestRollbackOfARunThatCompacted(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	gate := NewGate()
	m.On(asksForSummary).Always(Text("SUMMARY-WORDS"))
	m.On(LastUser("back")).Respond(func(*Request) Reply { return Text("never").Before(Hold(gate)) })
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, summarization("{type: messages, value: 7}", "{type: messages, value: 2}"))})
	api := p.API()
	id := newThread(t, api)
	converse(t, api, id, "MARK-ONE", "two", "three")
	r, err := api.CreateRun(patient(t), id, SayWatched("back"))
	require.NoError(t, err)
	_, err = m.AwaitMatch(patient(t), 1, LastUser("back"))
	require.NoError(t, err)
	require.Len(t, m.RequestsTo(asksForSummary), 1)
	require.NoError(t, api.CancelRun(patient(t), id, r.RunID, CancelOptions{Action: "rollback", Wait: true}))
	_, err = api.AwaitRun(patient(t), id, r.RunID)
	require.NoError(t, err)
	require.Len(t, messages(t, api, id), 6)
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	require.NotContains(t, mustJSON(state), "message_id")
	// 6 messages and the new one reach the trigger again: all of them are there to
	// be summarised.
	converse(t, api, id, "four")
	asked := m.RequestsTo(asksForSummary)
	require.Len(t, asked, 2)
	require.Contains(t, all(asked[1]), "MARK-ONE")
	require.NotContains(t, all(asked[1]), "SUMMARY-WORDS")
}
