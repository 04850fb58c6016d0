package workflows

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"deerflow/internal/step"
)

func TestConversion(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{0, 1, 99} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		attempts := 0
		env.RegisterActivityWithOptions(func(_ context.Context, in step.Conversion) (step.Converted, error) {
			if attempts++; attempts <= failures {
				return step.Converted{}, errors.New("the converter is away")
			}
			return step.Converted{Text: in.Name + ".md"}, nil
		}, activity.RegisterOptions{Name: step.ConvertDocument})
		env.ExecuteWorkflow(Conversion, step.Conversion{Name: "a"})
		require.True(t, env.IsWorkflowCompleted())
		if failures > step.SideAttempts {
			require.ErrorContains(t, env.GetWorkflowError(), "away")
			require.Equal(t, step.SideAttempts, attempts, "not for ever")
			continue
		}
		var out step.Converted
		require.NoError(t, env.GetWorkflowResult(&out))
		require.Equal(t, step.Converted{Text: "a.md"}, out)
	}
}
