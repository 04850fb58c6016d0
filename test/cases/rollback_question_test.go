package cases

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestRollbackOfAWaitingQuestion(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	m.On(LastUser("ask me")).Always(ToolCalls(ask("qq", "What?")))
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "before").Status)
	base := shape(messages(t, api, id))
	r := run(t, api, id, "ask me")
	require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true, Action: "rollback"}))
	require.Eventually(t, func() bool {
		th, err := api.Thread(ctx, id)
		return err == nil && th.Status == "idle"
	}, 5*time.Second, 20*time.Millisecond)
	t.Logf("%q", shape(messages(t, api, id)))
	if now := shape(messages(t, api, id)); strings.Join(now, "|") != strings.Join(base, "|") {
		t.Errorf("rollback of a waiting question left %q", now)
	}
	require.Equal(t, "success", run(t, api, id, "after").Status)
}
