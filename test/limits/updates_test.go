package limits

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// A workflow takes 2,000 updates and no more; a thread on which nothing runs
// continues as new before that, so there is no end to what it takes.
func TestM07UpdatesOfAnIdleThread(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, testkit.SayWatched("hello")).Status)
	const updates, clients = 2500, 4
	ctx := patient(t)
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for n := range clients {
		wg.Go(func() {
			for i := next.Add(1); i <= updates && errs[n] == nil; i = next.Add(1) {
				errs[n] = api.UpdateState(ctx, id, map[string]any{"title": fmt.Sprint("title ", i)})
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, api.UpdateState(ctx, id, map[string]any{"title": "the last"}))
	state, err := api.State(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "the last", state.Values.Title())
	d, err := dial(t, p.Temporal).DescribeWorkflowExecution(ctx, thread.WorkflowID(id), "")
	require.NoError(t, err)
	info := d.GetWorkflowExecutionInfo()
	require.NotEqual(t, info.GetFirstRunId(), info.GetExecution().GetRunId(), "the workflow continued as new")
	require.Less(t, info.GetHistoryLength(), int64(10_000))
	require.Equal(t, "success", run(t, api, id, testkit.SayWatched("and now?")).Status)
}

// Ten updates of a workflow may be under way at once. Fifty clients of one
// thread notice nothing of that: what each is told is true.
func TestM12FiftyClientsOfOneThread(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.On(testkit.LastUser("hold")).Respond(testkit.ByTurn(testkit.Text("a b", testkit.WithChunks(2), testkit.At(1, testkit.Hold(gate)))))
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	ctx := patient(t)
	first, err := api.CreateRun(ctx, id, testkit.SayWatched("hold"))
	require.NoError(t, err)
	<-gate.Reached()
	const clients = 50
	kept, dropped, refused := make([]string, clients), make([]string, clients), make([]error, clients)
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() { kept[n], dropped[n], refused[n] = besiege(ctx, api, id, n) })
	}
	wg.Wait()
	for _, err := range refused {
		require.NoError(t, err)
	}
	gate.Release()
	for n, runID := range kept {
		if runID == "" {
			continue
		}
		r, err := api.AwaitRun(ctx, id, runID)
		require.NoError(t, err)
		require.Equal(t, "success", r.Status, "client %d", n)
	}
	for _, runID := range dropped {
		if runID == "" {
			continue
		}
		r, err := api.AwaitRun(ctx, id, runID)
		require.NoError(t, err)
		require.Equal(t, "interrupted", r.Status)
	}
	r, err := api.AwaitRun(ctx, id, first.RunID)
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	said := map[string]int{}
	for _, message := range messages(t, api, id) {
		if message.Type == "human" {
			said[message.Text()]++
		}
	}
	for n, runID := range kept {
		if runID != "" {
			require.Equal(t, 1, said[fmt.Sprint("keep ", n)], "once in the transcript")
		}
	}
}

// besiege submits a run that stays and one that is cancelled, and tries what has
// to be refused. The ids are empty where there was no room.
func besiege(ctx context.Context, api *testkit.API, id string, n int) (kept, dropped string, err error) {
	enqueue := func(text string) (string, error) {
		request := testkit.SayWatched(fmt.Sprint(text, n))
		request.MultitaskStrategy = "enqueue"
		r, err := api.CreateRun(ctx, id, request)
		if testkit.StatusOf(err) == http.StatusTooManyRequests {
			return "", nil
		}
		return r.RunID, err
	}
	if kept, err = enqueue("keep "); err != nil {
		return kept, "", err
	}
	if dropped, err = enqueue("drop "); err != nil {
		return kept, dropped, err
	}
	if _, err = api.CreateRun(ctx, id, testkit.SayWatched("me first")); testkit.StatusOf(err) != http.StatusConflict {
		return kept, dropped, fmt.Errorf("a second run is refused: %w", err)
	}
	if _, err = api.CreateRun(ctx, id, testkit.Resume("nobody asked")); testkit.StatusOf(err) != http.StatusConflict {
		return kept, dropped, fmt.Errorf("an answer to nothing is refused: %w", err)
	}
	if dropped == "" {
		return kept, dropped, nil
	}
	return kept, dropped, api.CancelRun(ctx, id, dropped, testkit.CancelOptions{})
}

// M12: readers ask nothing of the thread's workflow, and are closed without a
// trace.
func TestM12FiftyReadersClosedAtOnce(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.Enqueue(testkit.Text("before and after", testkit.WithChunks(2), testkit.At(1, testkit.Hold(gate))))
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	ctx := patient(t)
	r, err := api.CreateRun(ctx, id, testkit.SayWatched("go"))
	require.NoError(t, err)
	<-gate.Reached()
	c := dial(t, p.Temporal)
	length := func() int64 {
		d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(id), "")
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	before := length()
	readers := make([]*testkit.SSE, 50)
	for n := range readers {
		readers[n], err = api.JoinStream(ctx, id, r.RunID, "-1")
		require.NoError(t, err)
		_, err = readers[n].Until(ctx, testkit.IsEvent("messages"))
		require.NoError(t, err)
	}
	for _, reader := range readers {
		reader.Close()
	}
	require.Equal(t, before, length(), "no reader is known to the workflow")
	last, err := api.JoinStream(ctx, id, r.RunID, "-1")
	require.NoError(t, err)
	gate.Release()
	_, err = last.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	require.Equal(t, []string{"human: go", "ai: before and after"}, texts(messages(t, api, id)))
}
