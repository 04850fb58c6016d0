package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// The client names its queued message like the tool result that the running run
// will make.
func TestIDsClientForeseesIDs(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("tools")).Enqueue(ToolCalls(ls("a", "/mnt/user-data"), ls("b", "/mnt/user-data")).With(At(1, Hold(gate))), Text("first answer"))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	id := newThread(t, api)
	r, err := api.CreateRun(ctx, id, SayWatched("tools"))
	require.NoError(t, err)
	<-gate.Reached()
	var queued []Run
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		req := sayAs(r.RunID+"-"+n, "foreseen "+n)
		req.MultitaskStrategy = "enqueue"
		q, err := api.CreateRun(ctx, id, req)
		if StatusOf(err)/100 == 4 {
			gate.Release()
			return
		}
		require.NoError(t, err)
		queued = append(queued, q)
	}
	gate.Release()
	r, err = api.AwaitRun(ctx, id, r.RunID)
	require.NoError(t, err)
	t.Logf("first run: %s", r.Status)
	require.Equal(t, "success", r.Status)
	for _, q := range queued {
		q, err = api.AwaitRun(ctx, id, q.RunID)
		require.NoError(t, err)
		require.Equal(t, "success", q.Status)
	}
	t.Logf("%q", shape(messages(t, api, id)))
}
