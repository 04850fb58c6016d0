package zombies

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

const namespace = "default"

// hand does what a person can do in the Temporal Web UI.
type hand struct {
	t        *testing.T
	c        client.Client
	workflow *commonpb.WorkflowExecution
}

func handOn(t *testing.T, p *testkit.Process, threadID string) *hand {
	t.Helper()
	return &hand{t: t, c: dial(t, p.Temporal), workflow: &commonpb.WorkflowExecution{WorkflowId: thread.WorkflowID(threadID)}}
}

// activity is the id of the one activity that is being worked on.
func (h *hand) activity() string {
	h.t.Helper()
	d, err := h.c.DescribeWorkflowExecution(patient(h.t), h.workflow.GetWorkflowId(), "")
	require.NoError(h.t, err)
	require.Len(h.t, d.GetPendingActivities(), 1)
	return d.GetPendingActivities()[0].GetActivityId()
}

func (h *hand) reset() {
	h.t.Helper()
	_, err := h.c.WorkflowService().ResetActivity(patient(h.t), &workflowservice.ResetActivityRequest{
		Namespace: namespace, Execution: h.workflow, Activity: &workflowservice.ResetActivityRequest_Id{Id: h.activity()},
	})
	require.NoError(h.t, err)
}

func (h *hand) pause() {
	h.t.Helper()
	_, err := h.c.WorkflowService().PauseActivity(patient(h.t), &workflowservice.PauseActivityRequest{
		Namespace: namespace, Execution: h.workflow, Activity: &workflowservice.PauseActivityRequest_Id{Id: h.activity()},
	})
	require.NoError(h.t, err)
}

func (h *hand) unpause() {
	h.t.Helper()
	_, err := h.c.WorkflowService().UnpauseActivity(patient(h.t), &workflowservice.UnpauseActivityRequest{
		Namespace: namespace, Execution: h.workflow, Activity: &workflowservice.UnpauseActivityRequest_Id{Id: h.activity()},
	})
	require.NoError(h.t, err)
}

// resetTo resets the workflow to its n-th workflow task, from the first. What came
// after it is not done again where without is named.
func (h *hand) resetTo(n int, without ...enumspb.ResetReapplyExcludeType) {
	h.t.Helper()
	events := h.c.GetWorkflowHistory(patient(h.t), h.workflow.GetWorkflowId(), "", false, 0)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(h.t, err)
		if e.GetWorkflowTaskCompletedEventAttributes() == nil {
			continue
		}
		if n--; n == 0 {
			_, err := h.c.ResetWorkflowExecution(patient(h.t), &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: namespace, WorkflowExecution: h.workflow, Reason: "by hand", WorkflowTaskFinishEventId: e.GetEventId(), RequestId: h.t.Name(),
				ResetReapplyExcludeTypes: without,
			})
			require.NoError(h.t, err)
			return
		}
	}
	h.t.Fatal("the history has no such workflow task")
}

// slowModel streams an old text that goes on for seconds, then a new one.
func slowModel(t *testing.T) (*testkit.Model, *testkit.Gate) {
	t.Helper()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(gate))),
		testkit.Text(newText, testkit.WithChunks(20)),
	)
	return m, gate
}

func TestAnActivityThatIsResetByHandWhileItStreams(t *testing.T) {
	t.Parallel()
	m, gate := slowModel(t)
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	ctx, api := patient(t), p.API()
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	var followed screen
	followed.until(ctx, t, live, "the old attempt goes")
	<-gate.Reached()
	handOn(t, p, id).reset()
	awaitClosed(t, m.Requests()[0], "a reset ends the old attempt")
	followed.toEnd(ctx, t, live)
	sameForAll(t, api, id, live.RunID(), []string{newText}, &followed)
	goesOn(t, api, m, id)
	require.Len(t, m.Requests(), 3)
}

func TestAnActivityThatIsPausedByHandWhileItStreams(t *testing.T) {
	t.Parallel()
	m, gate := slowModel(t)
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	ctx, api := patient(t), p.API()
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	var followed screen
	followed.until(ctx, t, live, "the old attempt goes")
	<-gate.Reached()
	h := handOn(t, p, id)
	h.pause()
	awaitClosed(t, m.Requests()[0], "a pause ends the attempt")
	run, err := api.Run(ctx, id, live.RunID())
	require.NoError(t, err)
	require.Equal(t, "running", run.Status)
	h.unpause()
	followed.toEnd(ctx, t, live)
	sameForAll(t, api, id, live.RunID(), []string{newText}, &followed)
	goesOn(t, api, m, id)
	require.Len(t, m.Requests(), 3)
}

func TestAPausedActivityCanBeStopped(t *testing.T) {
	t.Parallel()
	m, gate := slowModel(t)
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	ctx, api := patient(t), p.API()
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	var followed screen
	followed.until(ctx, t, live, "the old attempt goes")
	<-gate.Reached()
	handOn(t, p, id).pause()
	awaitClosed(t, m.Requests()[0], "a pause ends the attempt")
	require.NoError(t, api.CancelRun(ctx, id, live.RunID(), testkit.CancelOptions{Wait: true}))
	followed.toEnd(ctx, t, live)
	require.Contains(t, messages(t, api, id)[1].Text(), "the old attempt goes", "what was shown stays")
	goesOn(t, api, m, id)
}

func TestACommandThatIsResetByHandRunsOnce(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]struct{ end, again func(h *hand) }{
		"reset":             {end: (*hand).reset, again: func(*hand) {}},
		"pause and unpause": {end: (*hand).pause, again: (*hand).unpause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testkit.NewModel(t)
			m.Enqueue(
				testkit.ToolCalls(call("bash", map[string]any{"command": "echo once >> effect.txt; sleep 3600.5"})),
				testkit.Text("I checked before I repeated it."),
			)
			p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
			ctx, api := patient(t), p.API()
			id := newThread(t, api)
			run, err := api.CreateRun(ctx, id, testkit.SayWatched("do it"))
			require.NoError(t, err)
			effect := filepath.Join(p.DataDir, "users", "default", "threads", id, "user-data", "workspace", "effect.txt")
			awaitFile(t, effect)
			command := testkit.Live(func(c testkit.Proc) bool { return c.Parent == p.Pid() })
			require.Len(t, command, 1)
			h := handOn(t, p, id)
			do.end(h)
			require.Eventually(t, func() bool { return len(testkit.Live(testkit.InGroup(command[0].Group))) == 0 }, patience, tick)
			do.again(h)
			_, err = api.AwaitRun(ctx, id, run.RunID, "success")
			require.NoError(t, err)
			list := messages(t, api, id)
			require.Len(t, list, 4)
			require.Contains(t, list[2].Text(), "may have run")
			data, err := os.ReadFile(effect)
			require.NoError(t, err)
			require.Equal(t, "once\n", string(data))
			goesOn(t, api, m, id)
		})
	}
}

// A thread has two runs behind it and streams in its third when a person resets
// its workflow to an early place: what was said stays, what streams starts again.
func TestAWorkflowThatIsResetByHandWhileItStreams(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"to its first task": 1, "to its second task": 2, "to the middle of its first run": 3, "behind its first run": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, gate := testkit.NewModel(t), testkit.NewGate()
			m.Enqueue(
				testkit.ToolCalls(call("ls", map[string]any{"path": "/mnt/user-data"})),
				testkit.Text("the first answer"), testkit.Text("the second answer"),
				testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(gate))),
			)
			p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
			ctx, api := patient(t), p.API()
			id := newThread(t, api)
			for _, text := range []string{"first", "second"} {
				_, err := api.WaitRun(ctx, id, testkit.SayWatched(text))
				require.NoError(t, err)
			}
			before := shape(messages(t, api, id))
			require.Len(t, before, 6)
			live, err := api.StreamRun(ctx, id, testkit.SayWatched("the last"))
			require.NoError(t, err)
			defer live.Close()
			var followed screen
			followed.until(ctx, t, live, "the old attempt goes")
			<-gate.Reached()
			m.On(testkit.LastUser("the last")).Always(testkit.Text(newText))
			reset := time.Now()
			handOn(t, p, id).resetTo(place)
			awaitClosed(t, m.Requests()[3], "the attempt of the workflow that was reset ends")
			t.Logf("the old request was closed %v after the reset", time.Since(reset).Round(time.Millisecond))
			followed.toEnd(ctx, t, live)
			require.Equal(t, append(before, "human: the last", "ai: "+newText), shape(messages(t, api, id)))
			sameForAll(t, api, id, live.RunID(), []string{newText}, &followed)
			goesOn(t, api, m, id)
			require.Len(t, m.Requests(), 6, "what was answered was not asked again")
			oneLine(t, api, id)
		})
	}
}

// A reset that forgets the runs behind its place is none to the thread: they
// happened.
func TestAWorkflowThatIsResetByHandWithoutWhatCameAfter(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Enqueue(testkit.Text("the first answer"), testkit.Text("the second answer"))
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	for _, text := range []string{"first", "second"} {
		_, err := api.WaitRun(patient(t), id, testkit.SayWatched(text))
		require.NoError(t, err)
	}
	const afterFirst = 4 // its start, its model call, its end and its commit
	handOn(t, p, id).resetTo(afterFirst, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE)
	goesOn(t, api, m, id)
	require.Len(t, m.Requests(), 3)
	require.Len(t, m.Requests()[2].Messages, 6, "the next request has all that was said")
	oneLine(t, api, id)
}
