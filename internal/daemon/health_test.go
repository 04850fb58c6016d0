package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"

	"deerflow/internal/step"
)

func TestCrewWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		last []time.Duration // since the pollers asked for work
		err  error
		want string
	}{
		{"one is there", []time.Duration{time.Hour, 30 * time.Second}, nil, ""},
		{"nobody ever", nil, nil, "deerflow worker"},
		{"all are gone", []time.Duration{2 * time.Minute, 4 * time.Minute}, nil, "deerflow worker"},
		{"not known", nil, errors.New("refused"), "ask Temporal for workers: refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer := &workflowservice.DescribeTaskQueueResponse{}
			for _, d := range c.last {
				answer.Pollers = append(answer.Pollers, &taskqueuepb.PollerInfo{LastAccessTime: timestamppb.New(time.Now().Add(-d))})
			}
			temporal := &mocks.Client{}
			temporal.On("DescribeTaskQueue", mock.Anything, step.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW).Return(answer, c.err).Once()
			watch := &crewWatch{temporal: temporal}
			for range 3 { // the first answer is kept for a while
				err := watch.health(t.Context())
				if c.want == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, c.want)
				require.Equal(t, c.err == nil, errors.Is(err, errNoWorker))
			}
			temporal.AssertExpectations(t)
		})
	}
}
