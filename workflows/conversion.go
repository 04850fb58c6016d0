package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

const (
	// conversionAttempt bounds an attempt, with the wait for its turn.
	conversionAttempt = 15 * time.Minute
	// conversionTime bounds a conversion with all attempts, also while no worker
	// is there; without a text the start of a run converts once more.
	conversionTime = time.Hour
)

// Conversion makes the text of an uploaded document. A document that cannot be
// converted is a result.
func Conversion(ctx workflow.Context, in step.Conversion) (step.Converted, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: conversionTime,
		StartToCloseTimeout:    conversionAttempt,
		HeartbeatTimeout:       heartbeat,
		Summary:                "convert " + thread.Shorten(in.Name, 100),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: step.SideAttempts,
		},
	})
	var out step.Converted
	err := workflow.ExecuteActivity(ctx, step.ConvertDocument, in).Get(ctx, &out)
	return out, err
}
