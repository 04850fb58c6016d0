package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A queued run that is cancelled ends at once, however long the one before it takes.
func TestE08CancelOfAQueuedRun(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("hold")).Respond(func(*Request) Reply { return Text("held text here", WithChunks(3), At(2, Hold(gate))) })
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	t.Run("queued", func(t *testing.T) {
		id := newThread(t, api)
		r, err := api.CreateRun(ctx, id, SayWatched("hold"))
		require.NoError(t, err)
		var q []Run
		for i := range 3 {
			req := SayWatched(fmt.Sprintf("queued %d", i))
			req.MultitaskStrategy = "enqueue"
			x, err := api.CreateRun(ctx, id, req)
			require.NoError(t, err)
			q = append(q, x)
		}
		require.NoError(t, api.CancelRun(ctx, id, q[1].RunID, CancelOptions{}))
		require.NoError(t, api.CancelRun(ctx, id, q[1].RunID, CancelOptions{}))
		err = api.DeleteThread(ctx, id)
		require.Equal(t, 409, StatusOf(err))
		require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true}))
		for i, want := range []string{"success", "interrupted", "success"} {
			x, err := api.AwaitRun(ctx, id, q[i].RunID)
			require.NoError(t, err)
			require.Equal(t, want, x.Status)
		}
		t.Logf("%q", shape(messages(t, api, id)))
		require.NoError(t, api.DeleteThread(ctx, id))
		_, err = os.Stat(filepath.Dir(userDir(p, id)))
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = api.Thread(ctx, id)
		require.Equal(t, 404, StatusOf(err))
		_, err = api.CreateRun(ctx, id, SayWatched("x"))
		require.Equal(t, 404, StatusOf(err))
		// the same id anew
		_, err = api.CreateThread(ctx, id, nil)
		require.NoError(t, err)
		require.Equal(t, "success", run(t, api, id, "anew").Status)
		require.Len(t, messages(t, api, id), 2)
	})
	t.Run("cancel wait of a queued run", func(t *testing.T) {
		ctx := patient(t)
		id := newThread(t, api)
		gate2 := NewGate()
		m.On(LastUser("other gate")).Always(Text("x", At(0, Hold(gate2))))
		r, err := api.CreateRun(ctx, id, SayWatched("other gate"))
		require.NoError(t, err)
		req := SayWatched("queued")
		req.MultitaskStrategy = "enqueue"
		x, err := api.CreateRun(ctx, id, req)
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, api.CancelRun(ctx, id, x.RunID, CancelOptions{}))
		got := ""
		for time.Since(begin) < 3*time.Second {
			now, err := api.Run(ctx, id, x.RunID)
			require.NoError(t, err)
			if got = now.Status; now.Finished() {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		gate2.Release()
		_, err = api.AwaitRun(ctx, id, r.RunID)
		require.NoError(t, err)
		require.Equal(t, "interrupted", got, "a cancelled queued run does not look pending while another runs")
	})
	gate.Release()
}

// A queued run is cancelled, then Temporal's database is lost.
func TestCrashQueueCancelledTemporalLost(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("hold")).Respond(func(r *Request) Reply { return Text("held", WithChunks(2), At(1, Hold(gate))) })
	m.Respond(func(r *Request) Reply { return Text("answer to "+r.LastUser(), WithChunks(2)) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	_, err := p.API().CreateRun(patient(t), id, SayWatched("hold"))
	require.NoError(t, err)
	<-gate.Reached()
	req := SayWatched("q")
	req.MultitaskStrategy = "enqueue"
	x, err := p.API().CreateRun(patient(t), id, req)
	require.NoError(t, err)
	require.NoError(t, p.API().CancelRun(patient(t), id, x.RunID, CancelOptions{}))
	p.Kill9()
	gate.Release()
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.db-shm"} {
		_ = os.Remove(filepath.Join(p.DataDir, name))
	}
	p = restarted(p)
	awaitAll(t, p.API(), id, "success", "interrupted")
	list := messages(t, p.API(), id)
	t.Logf("%q", shape(list))
	require.Equal(t, []string{"human: hold", "ai: held"}, shape(list))
	require.Equal(t, "success", run(t, p.API(), id, "after").Status)
}
