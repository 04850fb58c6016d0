package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A08c: a server that does not know stream_options is asked once more without
// them, and that is remembered for the model.
func TestA08StreamOptionsRefused(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply {
		if bytes.Contains(r.Body, []byte(`"stream_options"`)) {
			return APIError(400, "", "Unrecognized request argument supplied: stream_options")
		}
		return Text("fine")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	for i, want := range []int{2, 3, 4} {
		id := newThread(t, p.API())
		require.Equal(t, "success", run(t, p.API(), id, fmt.Sprintf("go %d", i)).Status)
		require.Len(t, m.Requests(), want)
	}
}

// A21: the requests of a thread begin with the same bytes, the one system message
// among them.
func TestA21SamePrefix(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("first")).Respond(ByTurn(ToolCalls(ls("", "/mnt/user-data")), Text("fine")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	require.Equal(t, "success", run(t, p.API(), id, "first").Status)
	require.Equal(t, "success", run(t, p.API(), id, "second").Status)
	reqs := m.Requests()
	require.Len(t, reqs, 3)
	for i, r := range reqs {
		require.Equal(t, "system", r.Messages[0].Role)
		require.Equal(t, reqs[0].System(), r.System(), "request %d", i)
		if i > 0 { // all that was said before stands there as it stood there
			before := sentMessages(t, reqs[i-1])
			require.Equal(t, before, sentMessages(t, r)[:len(before)])
		}
	}
}

func sentMessages(t *testing.T, r *Request) []string {
	t.Helper()
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(r.Body, &body))
	var out []string
	for _, m := range body.Messages {
		out = append(out, string(m))
	}
	return out
}

// A25: a big argument that is written slowly is no silence; a provider that is
// silent for too long is asked once more, not three times.
func TestA25LongArgumentsAndSilence(t *testing.T) {
	m := NewModel(t)
	content := strings.Repeat("0123456789", 6000)
	args := mustJSON(map[string]any{"description": "d", "path": "/mnt/user-data/outputs/big.md", "content": content})
	slow := []Step{Delta(`{"tool_calls":[{"index":0,"id":"big","type":"function","function":{"name":"write_file","arguments":""}}]}`, "")}
	for len(args) > 0 {
		n := min(len(args), 400)
		slow = append(slow, Pause(20*time.Millisecond), Delta(`{"tool_calls":[{"index":0,"function":{"arguments":`+mustJSON(args[:n])+`}}]}`, ""))
		args = args[n:]
	}
	m.On(LastUser("slow")).Enqueue(Steps(append(slow, Delta(`{}`, "tool_calls"), Done())...))
	m.On(LastUser("silent")).Always(Steps(Send(text("a")), Hang()))
	m.Respond(func(*Request) Reply { return Text("fine") })
	config := strings.Replace(ConfigFor(m), "    api_key: kit-key", "    api_key: kit-key\n    stream_chunk_timeout: 2", 1)
	p := StartDev(t, DevOptions{Config: config})
	api := p.API()
	id := newThread(t, api)
	stream, err := api.StreamRun(patient(t), id, SayWatched("slow"))
	require.NoError(t, err)
	frames, err := stream.All(patient(t))
	require.NoError(t, err)
	pieces := 0
	for _, f := range frames {
		if f.Event == "messages" && strings.Contains(f.Data, "tool_call_chunk") && !strings.Contains(f.Data, `"tool_call_chunks":[]`) {
			pieces++
		}
	}
	require.Less(t, pieces, 140, "pieces of 20 ms are gathered")
	require.Greater(t, pieces, 10, "and shown as they come")
	require.Equal(t, "success", end(t, api, id, stream.RunID()))
	require.Len(t, m.RequestsTo(LastUser("slow")), 2, "the silence between two pieces is none")
	data, err := api.Artifact(patient(t), id, "mnt/user-data/outputs/big.md")
	require.NoError(t, err)
	require.Equal(t, content, string(data))

	id = newThread(t, api)
	require.Equal(t, "error", run(t, api, id, "silent").Status)
	require.Len(t, m.RequestsTo(LastUser("silent")), 2)
	require.Contains(t, last(messages(t, api, id)).Text(), "silent for too long")
	stillFine(t, api, id)
}

func stillFine(t *testing.T, api *API, id string) {
	t.Helper()
	require.Equal(t, "success", run(t, api, id, "after").Status)
	require.Equal(t, "fine", last(messages(t, api, id)).Text())
}

// B08: a result whose call is gone is not sent, whether the client has removed
// the call or has brought the result along.
func TestB08OrphanResults(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("first")).Respond(ByTurn(ToolCalls(ls("gone", "/mnt/user-data")), Text("fine")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "first").Status)
	list := messages(t, api, id)
	require.Equal(t, "tool", list[2].Type)
	require.NoError(t, api.UpdateState(patient(t), id, map[string]any{"messages": []any{
		map[string]any{"type": "remove", "id": list[1].ID},
		map[string]any{"type": "tool", "tool_call_id": "never", "content": "brought along"},
	}}))
	stillFine(t, api, id)
	for _, q := range m.RequestsTo(LastUser("after")) {
		for _, x := range q.Messages {
			require.NotEqual(t, "tool", x.Role)
		}
	}
	var kept []string
	for _, x := range messages(t, api, id) {
		kept = append(kept, x.Type)
	}
	require.Equal(t, []string{"human", "tool", "ai", "tool", "human", "ai"}, kept, "the log keeps what was said")
}
