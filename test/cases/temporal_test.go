package cases

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

func dial(t *testing.T, p *Process) client.Client {
	t.Helper()
	c, err := tryDial(p)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func tryDial(p *Process) (client.Client, error) {
	return client.Dial(client.Options{HostPort: p.Temporal, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

// byHand does to threads what a person can do in the Temporal Web UI.
func byHand(t *testing.T, actions ...string) {
	t.Helper()
	m := NewModel(t)
	m.On(LastUser("ask")).Always(ToolCalls(ask("", "What?")))
	m.On(LastUser("tool")).Respond(ByTurn(ToolCalls(call("", "bash", map[string]any{"description": "d", "command": "touch started; sleep 2; echo hi"})), Text("fine")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	c := dial(t, p)
	for _, state := range []string{"idle", "ask", "tool"} {
		for _, action := range actions {
			t.Run(state+" "+action, func(t *testing.T) {
				id := newThread(t, api)
				wf := thread.WorkflowID(id)
				if state == "tool" {
					_, err := api.CreateRun(patient(t), id, SayWatched("tool"))
					require.NoError(t, err)
					require.Eventually(t, func() bool { return len(messages(t, api, id)) == 2 }, patience, 20*time.Millisecond)
					awaitFile(t, filepath.Join(userDir(p, id), "workspace", "started"))
				} else {
					run(t, api, id, state)
				}
				ctx := patient(t)
				switch action {
				case "cancel":
					require.NoError(t, c.CancelWorkflow(ctx, wf, ""))
				case "terminate":
					require.NoError(t, c.TerminateWorkflow(ctx, wf, "", "by hand"))
				case "badsignal":
					for _, name := range []string{"answer", "cancel_run", "cancel", "nobody"} {
						for _, arg := range []any{5, "text", []int{1}, map[string]any{"text": 5}, nil, map[string]any{"run_id": "nobody", "action": "nope"}} {
							require.NoError(t, c.SignalWorkflow(ctx, wf, "", name, arg))
						}
					}
				case "badupdate":
					for _, name := range []string{"answer", "cancel_run", "submit_run", "nobody"} {
						for _, arg := range []any{5, "text", nil, map[string]any{"text": ""}, map[string]any{"run_id": "x", "action": "nope"}} {
							h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: wf, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
							if err == nil {
								err = h.Get(ctx, nil)
							}
							_ = err
						}
					}
				}
				time.Sleep(100 * time.Millisecond)
				begin := time.Now()
				runs, err := api.Runs(ctx, id)
				require.NoError(t, err)
				for i, r := range runs {
					long, cancel := context.WithTimeout(t.Context(), 70*time.Second)
					r, err = api.AwaitRun(long, id, r.RunID)
					cancel()
					require.NoError(t, err, "a run that is running for ever")
					runs[i] = r
					t.Logf("run %s after %v", r.Status, time.Since(begin).Round(time.Millisecond))
				}
				if state == "tool" && action == "cancel" {
					require.Equal(t, "interrupted", runs[0].Status)
				}
				if state == "ask" && action == "badsignal" {
					for _, x := range messages(t, api, id) {
						require.NotContains(t, x.Text(), "my answer is", "an empty signal is no answer")
					}
				}
				var r Run
				if state == "ask" {
					th, err := api.Thread(ctx, id)
					require.NoError(t, err)
					t.Logf("thread %s", th.Status)
				}
				// A cancel closes the question, as Stop does; a terminate is a crash to
				// a thread that only waits.
				if state == "ask" && action == "terminate" {
					r = do(t, api, id, Resume("this one"))
				} else {
					r = run(t, api, id, "go on")
				}
				t.Logf("%s %q", r.Status, shape(messages(t, api, id)))
				require.Equal(t, "success", r.Status)
				require.Equal(t, "fine", last(messages(t, api, id)).Text())
			})
		}
	}
}

func TestTemporalUpdatesByHand(t *testing.T) { byHand(t, "badupdate") }
