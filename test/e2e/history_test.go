package e2e

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
	product "deerflow/worker"
)

// TestHistoriesReplay makes a history of each shape with the real product and
// replays it from the start. With DEERFLOW_RECORD_HISTORIES it also writes them
// to that directory.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	hold := testkit.NewGate()
	m.On(testkit.AnyMessage("shape: plain")).Respond(testkit.ByTurn(testkit.Text("plain answer", testkit.WithUsage(10, 2))))
	m.On(testkit.AnyMessage("shape: tools")).Respond(testkit.ByTurn(
		testkit.ToolCalls(ls("a", "/mnt/user-data"), ls("b", "/mnt/user-data/uploads"), ls("c", "/mnt/user-data/outputs")),
		testkit.ToolCalls(testkit.Call{ID: "d", Name: "no_such_tool"}),
		testkit.Text("used tools"),
	))
	m.On(testkit.AnyMessage("shape: question")).Respond(onceAnswered(
		testkit.ToolCalls(testkit.Call{ID: "q", Name: "ask_clarification", Args: map[string]any{"question": "Which?", "clarification_type": "missing_info"}}),
		testkit.Text("answered"),
	))
	m.On(testkit.AnyMessage("shape: cancel")).Enqueue(
		testkit.Text("cut here and no further", testkit.WithChunks(4), testkit.At(2, testkit.Hold(hold))), testkit.Text("went on"))
	m.On(testkit.AnyMessage("shape: failure")).Respond(func(*testkit.Request) testkit.Reply {
		return testkit.APIError(401, "invalid_api_key", "no such key")
	})
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	ctx := patient(t)
	api := p.API()
	c, err := client.Dial(client.Options{HostPort: p.Temporal, Logger: quiet()})
	require.NoError(t, err)
	defer c.Close()

	wait := func(id string, requests ...testkit.RunRequest) {
		for _, r := range requests {
			_, err := api.WaitRun(ctx, id, r)
			require.NoError(t, err)
		}
	}
	play := map[string]func(id string){
		"plain":    func(id string) { wait(id, testkit.SayWatched("shape: plain")) },
		"tools":    func(id string) { wait(id, testkit.SayWatched("shape: tools")) },
		"question": func(id string) { wait(id, testkit.SayWatched("shape: question"), testkit.Resume("this")) },
		"cancel": func(id string) {
			run, err := api.CreateRun(ctx, id, testkit.SayWatched("shape: cancel"))
			require.NoError(t, err)
			<-hold.Reached()
			require.NoError(t, api.CancelRun(ctx, id, run.RunID, testkit.CancelOptions{Wait: true}))
			wait(id, testkit.SayWatched("go on"))
		},
		"failure": func(id string) {
			run, err := api.CreateRun(ctx, id, testkit.SayWatched("shape: failure"))
			require.NoError(t, err)
			_, err = api.AwaitRun(ctx, id, run.RunID, "error")
			require.NoError(t, err)
		},
	}
	for name, run := range play {
		th, err := api.CreateThread(ctx, "", nil)
		require.NoError(t, err)
		run(th.ThreadID)
		history := historyOf(ctx, t, c, th.ThreadID)
		replayer := worker.NewWorkflowReplayer()
		product.Register(replayer)
		require.NoError(t, replayer.ReplayWorkflowHistory(quiet(), history), "shape %s", name)
		record(t, name, history)
	}
}

func ls(id, path string) testkit.Call {
	return testkit.Call{ID: id, Name: "ls", Args: map[string]any{"description": "look", "path": path}}
}

func quiet() tlog.Logger { return tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func historyOf(ctx context.Context, t *testing.T, c client.Client, threadID string) *historypb.History {
	t.Helper()
	events := c.GetWorkflowHistory(ctx, thread.WorkflowID(threadID), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	history := &historypb.History{}
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// record writes a history for the replay tests, when asked to.
func record(t *testing.T, name string, history *historypb.History) {
	t.Helper()
	dir := os.Getenv("DEERFLOW_RECORD_HISTORIES")
	if dir == "" {
		return
	}
	data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("../..", dir, name+".json"), append(data, '\n'), 0o600))
}
