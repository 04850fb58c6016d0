package middleware

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

type archive struct {
	got []Conversation
	err error
}

func (a *archive) Add(_ workflow.Context, c Conversation) error {
	a.got = append(a.got, c)
	return a.err
}

func TestMemory(t *testing.T) {
	t.Parallel()
	conversation := Conversation{Thread: "t1", Run: "r1", User: "ann", Agent: "lead_agent"}
	for _, tc := range []struct {
		name string
		on   bool
		err  error
		want []Conversation
	}{
		{"on", true, nil, []Conversation{conversation}},
		{"off", false, nil, nil},
		{"a memory that fails does not fail the run (L04)", true, errors.New("down"), []Conversation{conversation}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := &archive{err: tc.err}
			run := &Run{ThreadID: "t1", RunID: "r1", User: "ann", Plan: &agent.Summary{Agent: "lead_agent", Memory: tc.on}}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				u, err := NewMemory(a).AfterRun(ctx, run)
				require.Equal(t, Update{}, u)
				return err
			})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tc.want, a.got)
		})
	}
	u, err := NewMemory(nil).AfterRun(nil, &Run{Plan: &agent.Summary{Memory: true}})
	require.NoError(t, err)
	require.Equal(t, Update{}, u)
}
