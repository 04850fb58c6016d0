package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// A key is known over continue-as-new, over a kill, and after Temporal's
// database was lost; in each state of its run, and with each strategy: a repeat
// never stops the run that it repeats.
func TestE08IdempotencyKeys(t *testing.T) {
	m := NewModel(t)
	a := newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 10")})
	keyed := func(key, text, strategy string, id string) (Run, error) {
		req := SayWatched(text)
		req.MultitaskStrategy = strategy
		return p.API().WithHeader("Idempotency-Key", key).CreateRun(patient(t), id, req)
	}
	id := newThread(t, p.API())
	for _, strategy := range []string{"reject", "interrupt", "rollback", "enqueue"} {
		first, err := keyed("k "+strategy, "hold "+strategy, strategy, id)
		require.NoError(t, err)
		a.under(t, p, first, "hold", strategy)
		for range 3 {
			again, err := keyed("k "+strategy, "hold "+strategy, strategy, id)
			require.NoError(t, err, strategy)
			require.Equal(t, first.RunID, again.RunID)
		}
		a.let(t, p, id, strategy)
		require.Equal(t, "success", end(t, p.API(), id, first.RunID))
	}
	before := workflowRun(t, p, id)
	for i := range 6 {
		require.Equal(t, "success", run(t, p.API(), id, fmt.Sprintf("more %d", i)).Status)
	}
	require.NotEqual(t, before, workflowRun(t, p, id), "the workflow has continued as new")
	list := shape(messages(t, p.API(), id))
	require.Len(t, list, 20)
	runs := allRuns(t, p, id)
	repeat := func(alive bool) {
		for _, strategy := range []string{"reject", "interrupt", "rollback", "enqueue"} {
			_, err := keyed("k "+strategy, "hold "+strategy, strategy, id)
			require.NoError(t, err)
		}
		// The same at the thread itself, which remembers run ids.
		c := dial(t, p)
		for _, r := range runs {
			handle, err := c.UpdateWorkflow(patient(t), client.UpdateWorkflowOptions{
				WorkflowID: thread.WorkflowID(id), UpdateName: step.UpdateSubmitRun,
				Args: []any{step.SubmitRun{RunID: r.RunID}}, WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			if err == nil {
				err = handle.Get(patient(t), nil)
			}
			require.Error(t, err)
			var refused *temporal.ApplicationError
			if alive { // otherwise Temporal's database is a new one, where nothing has started the workflow
				require.ErrorAs(t, err, &refused)
				require.Equal(t, step.ErrDuplicate, refused.Type(), "%s", r.RunID)
			}
		}
		require.Len(t, allRuns(t, p, id), len(runs))
		require.Equal(t, list, shape(messages(t, p.API(), id)))
	}
	repeat(true)
	p.Kill9()
	p = restarted(p)
	repeat(true)
	p.Kill9()
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.db-shm"} {
		require.NoError(t, os.RemoveAll(filepath.Join(p.DataDir, name)))
	}
	p = restarted(p)
	repeat(false)
	usable(t, p.API(), id)
	list, runs = shape(messages(t, p.API(), id)), allRuns(t, p, id)
	repeat(true)
}

func allRuns(t *testing.T, p *Process, id string) []Run {
	t.Helper()
	runs, err := p.API().Runs(patient(t), id)
	require.NoError(t, err)
	return runs
}

// workflowRun is the run id of a thread's workflow, another one after each
// continue-as-new.
func workflowRun(t *testing.T, p *Process, id string) string {
	t.Helper()
	d, err := dial(t, p).DescribeWorkflowExecution(patient(t), thread.WorkflowID(id), "")
	require.NoError(t, err)
	return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// M08: twenty clients on a thread that continues as new all the time. Each sends
// its messages one after the other and stops some; what was acknowledged is there
// once, in the order of its client.
func TestM08TwentyClients(t *testing.T) {
	m := NewModel(t)
	newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 5")})
	api := p.API()
	id := newThread(t, api)
	const clients, each = 20, 4
	var wg sync.WaitGroup
	posted := make([][]string, clients) // run ids
	for c := range clients {
		wg.Go(func() {
			for n := range each {
				req := SayWatched(fmt.Sprintf("c%d.%d", c, n))
				req.MultitaskStrategy = "enqueue"
				r, err := api.CreateRun(patient(t), id, req)
				if err != nil {
					t.Errorf("client %d: %v", c, err)
					return
				}
				posted[c] = append(posted[c], r.RunID)
				if n == 2 {
					if err := api.CancelRun(patient(t), id, r.RunID, CancelOptions{}); err != nil && StatusOf(err) != 409 {
						t.Errorf("client %d: cancel: %v", c, err)
					}
				}
			}
		})
	}
	wg.Wait()
	var texts []string
	for c, ids := range posted {
		require.Len(t, ids, each)
		for n, runID := range ids {
			status := end(t, api, id, runID)
			if n != 2 {
				require.Equal(t, "success", status, "client %d, message %d", c, n)
			}
			if status == "success" {
				texts = append(texts, fmt.Sprintf("c%d.%d", c, n))
			}
		}
	}
	list := messages(t, api, id)
	said := humans(list)
	for _, text := range texts {
		at := slices.Index(said, text)
		require.GreaterOrEqual(t, at, 0, "%s is lost", text)
		require.Equal(t, at, len(said)-1-slices.Index(reversed(said), text), "%s is doubled", text)
		i := slices.IndexFunc(list, func(m Message) bool { return m.Text() == text })
		require.Equal(t, "answer to "+text, list[i+1].Text())
	}
	for c := range clients { // in the order of the client
		last := -1
		for n := range each {
			if at := slices.Index(said, fmt.Sprintf("c%d.%d", c, n)); at >= 0 {
				require.Greater(t, at, last)
				last = at
			}
		}
	}
	usable(t, api, id)
}

func reversed(list []string) []string {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}
