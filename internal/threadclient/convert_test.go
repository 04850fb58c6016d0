package threadclient

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
)

func TestConvertStartsAWorkflowOfTheDocument(t *testing.T) {
	t.Parallel()
	f := fake(outcome{value: step.Converted{Text: "a.md"}})
	in := step.Conversion{User: "u1", Thread: "t1", Name: "a.pdf", Size: 7, Want: "a.md"}
	out, err := clientOf(t, f, 0).Convert(context.Background(), in)
	require.NoError(t, err)
	require.Equal(t, step.Converted{Text: "a.md"}, out)
	in.Version = 1
	require.Equal(t, []any{step.ConversionWorkflow, in}, f.requests[0].args)
	require.Equal(t, client.StartWorkflowOptions{
		ID: in.WorkflowID(), TaskQueue: step.TaskQueue, WorkflowRunTimeout: conversionLife,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, f.requests[0].start)
	require.Regexp(t, `^conversion/t1/[0-9a-f]{16}$`, in.WorkflowID())
	other := in
	other.Size = 8
	require.NotEqual(t, in.WorkflowID(), other.WorkflowID(), "another document")

	failed := errors.New("all attempts failed")
	_, err = clientOf(t, fake(outcome{get: failed}), 0).Convert(context.Background(), in)
	require.ErrorIs(t, err, failed)
}
