package cases

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A question of a run that was rolled back has the id of the next question.
func TestIDsQuestionAfterRollback(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("first")).Always(ToolCalls(ask("call_0", "Old question?"), call("call_1", "bash", map[string]any{"description": "w", "command": "sleep 303.1"})))
	m.On(LastUser("second")).Enqueue(ToolCalls(ask("call_0", "New question?")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	for _, action := range []string{"rollback", "interrupt"} {
		t.Run(action, func(t *testing.T) {
			if action == "interrupt" {
				m.On(LastUser("second")).Enqueue(ToolCalls(ask("call_0", "New question?")))
			}
			id := newThread(t, api)
			r, err := api.CreateRun(ctx, id, SayWatched("first"))
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				for _, x := range messages(t, api, id) {
					if x.Type == "tool" {
						return true
					}
				}
				return false
			}, patience, 20*time.Millisecond)
			require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true, Action: action}))
			r = do(t, api, id, SayWatched("second"))
			list := messages(t, api, id)
			t.Logf("%s %s %q", r.Status, r.StopReason, shape(list))
			require.Contains(t, last(list).Text(), "New question?")
			th, err := api.Thread(ctx, id)
			require.NoError(t, err)
			require.Equal(t, "interrupted", th.Status)
			require.Contains(t, mustJSON(th.Interrupts), "New question?")
			require.Equal(t, "success", do(t, api, id, Resume("x")).Status)
		})
	}
}

func TestIDsClientTakesTheQuestionsID(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("hello")).Enqueue(ToolCalls(ask("call_0", "New question?")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	id := newThread(t, api)
	r, err := api.CreateRun(ctx, id, sayAs("clarification:call_0", "hello"))
	if StatusOf(err)/100 == 4 {
		return // refused: fine
	}
	require.NoError(t, err)
	r, err = api.AwaitRun(ctx, id, r.RunID)
	require.NoError(t, err)
	list := messages(t, api, id)
	t.Logf("%s %q", r.Status, shape(list))
	require.Equal(t, "human: hello", shape(list)[0])
	require.Contains(t, last(list).Text(), "New question?")
	require.Equal(t, "success", do(t, api, id, SayWatched("on")).Status)
}
