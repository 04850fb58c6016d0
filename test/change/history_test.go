package change

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	tlog "go.temporal.io/sdk/log"

	"deerflow/internal/thread"
)

func quiet() tlog.Logger { return tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func dial(t *testing.T, hostPort string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: hostPort, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// execution is one workflow run of a thread and its history.
type execution struct {
	runID   string
	history *historypb.History
}

// executions are the workflow runs of a thread that are over and the one that is
// not, in the order in which they began. The current one and those that it
// continues are among them, whatever visibility knows by now.
func executions(ctx context.Context, t *testing.T, c client.Client, threadID string) []execution {
	t.Helper()
	id := thread.WorkflowID(threadID)
	d, err := c.DescribeWorkflowExecution(ctx, id, "")
	require.NoError(t, err)
	current := d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	var list []execution
	require.Eventually(t, func() bool {
		list = nil
		answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = %q", id), PageSize: 1000,
		})
		require.NoError(t, err)
		for _, e := range answer.GetExecutions() { // newest first
			list = append([]execution{{runID: e.GetExecution().GetRunId()}}, list...)
		}
		return len(list) > 0 && list[len(list)-1].runID == current
	}, patience, 20*time.Millisecond, "the current workflow run is listed")
	for i := range list {
		list[i].history = historyOf(ctx, t, c, id, list[i].runID)
	}
	return list
}

func historyOf(ctx context.Context, t *testing.T, c client.Client, workflowID, runID string) *historypb.History {
	t.Helper()
	events := c.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	history := &historypb.History{}
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// faults are the workflow tasks of a history that failed, and its failure. A
// task whose commands came too late, because something had arrived meanwhile, is
// none.
func faults(h *historypb.History) []string {
	var found []string
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && a.GetCause() != enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			found = append(found, fmt.Sprintf("event %d: workflow task failed, %s: %s", e.GetEventId(), a.GetCause(), a.GetFailure().GetMessage()))
		}
		if a := e.GetWorkflowExecutionFailedEventAttributes(); a != nil {
			found = append(found, fmt.Sprintf("event %d: workflow failed: %s", e.GetEventId(), a.GetFailure().GetMessage()))
		}
	}
	return found
}

// stickyTasks counts the workflow tasks that were meant for a worker which has
// the workflow in memory, and all.
func stickyTasks(h *historypb.History) (sticky, all int) {
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskScheduledEventAttributes(); a != nil {
			all++
			if a.GetTaskQueue().GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
				sticky++
			}
		}
	}
	return sticky, all
}

// timers counts the timers of a history whose summary has a text.
func timers(h *historypb.History, text string) int {
	n := 0
	for _, e := range h.GetEvents() {
		if e.GetTimerStartedEventAttributes() == nil {
			continue
		}
		var summary string
		if s := e.GetUserMetadata().GetSummary(); s != nil && converter.GetDefaultDataConverter().FromPayload(s, &summary) == nil && strings.Contains(summary, text) {
			n++
		}
	}
	return n
}

// watch gives a context that ends, with the reason, as soon as a workflow of the
// thread has failed: a history that does not replay is not waited for.
func watch(ctx context.Context, c client.Client, threadID string) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	failed := fmt.Sprintf("WorkflowId = %q AND ExecutionStatus = 'Failed'", thread.WorkflowID(threadID))
	go func() {
		poll := time.NewTicker(100 * time.Millisecond)
		defer poll.Stop()
		for {
			answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: failed})
			if err == nil && len(answer.GetExecutions()) > 0 {
				cancel(fmt.Errorf("the workflow of thread %s failed", threadID))
			}
			select {
			case <-ctx.Done():
				return
			case <-poll.C:
			}
		}
	}()
	return ctx, cancel
}
