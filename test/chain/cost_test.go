package chain

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// nothingOn has every switch of the chain off that there is.
const nothingOn = `title: {enabled: false}
tool_output: {enabled: false}
read_before_write: {enabled: false}
safety_finish_reason: {enabled: false}
token_usage: {enabled: false}
loop_detection: {enabled: false}`

// everythingOn has them on, with nothing for them to do: titles without a model,
// a trigger that is far away.
const everythingOn = `token_budget: {enabled: true, max_tokens: 100000000}
summarization: {enabled: true, trigger: [{type: messages, value: 100000}]}
guardrails: {enabled: true, provider: {use: allowlist, config: {denied_tools: [grep]}}}
loop_detection: {tool_freq_overrides: {glob: {warn: 5000, hard_limit: 9000}}}`

// looksAround takes turns of one small call each, then answers.
func looksAround(turns int) func(*Request) Reply {
	return func(r *Request) Reply {
		n := r.Turn()
		if n >= turns {
			return Text("That is all there is to see here, and it is not much.", WithUsage(100, 12))
		}
		looks := call("glob", map[string]any{"path": "/mnt/user-data/workspace", "pattern": fmt.Sprintf("*.%03d", n)})
		looks.ID = fmt.Sprintf("call_%03d", n)
		return Text("I look around once more, to be sure.", WithUsage(100, 20), WithCalls(looks))
	}
}

// eventsOf reads the history of a thread over all its continuations.
func eventsOf(t *testing.T, p *Process, id string) []*historypb.HistoryEvent {
	t.Helper()
	ctx, c := patient(t), dial(t, p)
	var d *workflowservice.DescribeWorkflowExecutionResponse
	require.Eventually(t, func() bool {
		var err error
		d, err = c.DescribeWorkflowExecution(ctx, thread.WorkflowID(id), "")
		return err == nil && d.GetPendingWorkflowTask() == nil // what ended the run is recorded
	}, patience, 10*time.Millisecond)
	var all []*historypb.HistoryEvent
	for run := d.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		next := ""
		events := c.GetWorkflowHistory(ctx, thread.WorkflowID(id), run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			all = append(all, e)
			next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		run = next
	}
	return all
}

// A turn in which the middlewares have nothing to do costs one activity for the
// model and one for each tool, whatever is switched on. A commit rides on the
// next model call: only the end of a run makes one of its own.
func TestATurnWithNothingToDoCostsNothing(t *testing.T) {
	t.Parallel()
	const turns = 12
	counts := func(more string, planMode bool) (events, activities map[string]int, workflowTasks int) {
		m := NewModel(t)
		m.Respond(looksAround(turns))
		p := StartDev(t, DevOptions{Config: ConfigFor(m, more)})
		id := newThread(t, p.API())
		r := Say("look around")
		if planMode {
			require.Equal(t, "success", finish(t, p.API(), id, begin(t, p.API(), id, r)).Status)
		} else {
			run, err := p.API().CreateRun(patient(t), id, r)
			require.NoError(t, err)
			require.Equal(t, "success", finish(t, p.API(), id, run).Status)
		}
		require.Len(t, m.Requests(), turns+1)
		require.Len(t, messages(t, p.API(), id), 2*turns+2)
		events, activities = map[string]int{}, map[string]int{}
		for _, e := range eventsOf(t, p, id) {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
				enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED: // a machine under load
				continue
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				workflowTasks++
				continue
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				activities[e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()]++
			}
			events[e.GetEventType().String()]++
		}
		return events, activities, workflowTasks
	}
	bare, bareActivities, bareTasks := counts(nothingOn, false)
	full, fullActivities, fullTasks := counts(everythingOn, true)
	require.Equal(t, map[string]int{step.StartRun: 1, step.CallModel: turns + 1, step.CallTool: turns}, fullActivities)
	require.Equal(t, bareActivities, fullActivities)
	require.Equal(t, bare, full)
	t.Logf("%v, workflow tasks %d and %d", full, bareTasks, fullTasks)
	const around = 4 // the start, the submission, the end of the run
	for _, tasks := range []int{bareTasks, fullTasks} {
		require.LessOrEqual(t, tasks, 2*turns+1+around, "one workflow task for each activity")
	}
	require.Equal(t, 2, full["MarkerRecorded"], "the thread is loaded, and the end of its run is stored: all other commits ride along")
}
