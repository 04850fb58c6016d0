package threadclient

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
)

// conversionLife bounds the workflow of a conversion.
const conversionLife = 2 * time.Hour

// Convert has the text of an uploaded document made, and waits for it for as long
// as ctx lives; the conversion goes on when ctx ends first. Where the same
// document is being converted already, that is waited for.
func (c *Client) Convert(ctx context.Context, in step.Conversion) (step.Converted, error) {
	var out step.Converted
	in.Version = 1
	var run client.WorkflowRun
	err := c.do(ctx, request{starts: true, call: func(ctx context.Context) (err error) {
		run, err = c.o.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: in.WorkflowID(), TaskQueue: step.TaskQueue, WorkflowRunTimeout: conversionLife,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, step.ConversionWorkflow, in)
		return err
	}})
	if err == nil {
		err = run.Get(ctx, &out)
	}
	if err != nil {
		return out, fmt.Errorf("convert %s of thread %s: %w", in.Name, in.Thread, err)
	}
	return out, nil
}
