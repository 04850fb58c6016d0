//go:build failpoints

package worker

import (
	"strings"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/failpoint"
	"deerflow/internal/thread"
)

// atFailpoints puts a point where a workflow has decided to continue as new. A
// workflow that stands there looks like one that hangs, so that is not looked for.
func atFailpoints(o *worker.Options) {
	o.DeadlockDetectionTimeout = time.Hour
	o.Interceptors = append(o.Interceptors, &watch{})
}

type watch struct {
	interceptor.WorkerInterceptorBase
}

func (*watch) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &watchWorkflow{}
	w.Next = next
	return w
}

type watchWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (w *watchWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	out, err := w.Next.ExecuteWorkflow(ctx, in)
	if workflow.IsContinueAsNewError(err) {
		id := workflow.GetInfo(ctx).WorkflowExecution.ID
		failpoint.Here(failpoint.Continuing, strings.TrimPrefix(id, thread.WorkflowID("")))
	}
	return out, err
}
