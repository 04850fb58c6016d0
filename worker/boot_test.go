package worker

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
)

func pending(id string, state enumspb.PendingActivityState, identity string) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{ActivityId: id, State: state, LastWorkerIdentity: identity}
}

func TestFailLostFailsWhatADeadProcessHadStarted(t *testing.T) {
	t.Parallel()
	const started, scheduled = enumspb.PENDING_ACTIVITY_STATE_STARTED, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	c := &mocks.Client{}
	described := &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{RunId: "run"}},
		PendingActivities: []*workflowpb.PendingActivityInfo{
			pending("mine", started, "me"), pending("not started", scheduled, "me"), pending("another's", started, "somebody"),
		},
	}
	c.On("DescribeWorkflowExecution", mock.Anything, "thread/a", "").Return(described, nil)
	c.On("DescribeWorkflowExecution", mock.Anything, "thread/gone", "").Return(nil, serviceerror.NewNotFound("no such workflow"))
	c.On("CompleteActivityByID", mock.Anything, "default", "thread/a", "run", "mine", nil, mock.MatchedBy(func(err error) bool {
		app, ok := err.(*temporal.ApplicationError) //nolint:errorlint // it is passed as it is
		return ok && app.Type() == step.ErrHostRestarted && !app.NonRetryable()
	})).Return(nil).Once()
	n, err := FailLost(t.Context(), c, "default", "me", []string{"a", "gone"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	c.AssertExpectations(t)
}

func TestFailLostSaysWhichThreadItCouldNotLookAt(t *testing.T) {
	t.Parallel()
	c := &mocks.Client{}
	c.On("DescribeWorkflowExecution", mock.Anything, "thread/a", "").Return(nil, serviceerror.NewUnavailable("away"))
	_, err := FailLost(t.Context(), c, "default", "me", []string{"a"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "thread a")
}
