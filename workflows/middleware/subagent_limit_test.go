package middleware

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// tasks takes all calls of a message through the middleware together, as the loop
// does. Each task takes a minute. It gives the replies by position and how many
// tasks were at work at most.
func tasks(t *testing.T, rule agent.SubagentRule, ledger []thread.Delegation, names ...string) (replies []*step.Reply, most int, stop string) {
	t.Helper()
	asker := thread.Digest{ID: "m1", Role: thread.RoleAI}
	for i, name := range names {
		asker.Calls = append(asker.Calls, thread.CallDigest{ID: fmt.Sprint("c", i), Name: name})
	}
	run := runOf(agent.Summary{})
	run.Messages, run.State.Delegations = []thread.Digest{asker}, ledger
	replies = make([]*step.Reply, len(names))
	inWorkflow(t, func(ctx workflow.Context) {
		limit := NewSubagentLimit(ctx, rule)
		u, err := limit.AfterModel(ctx, run, &ModelReply{CallModelResult: step.CallModelResult{Message: asker}})
		require.NoError(t, err)
		stop = u.StopReason
		working := 0
		done := workflow.NewWaitGroup(ctx)
		for i, c := range asker.Calls {
			done.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer done.Done()
				call := &ToolCall{CallDigest: c, Asker: asker.ID, Position: i, Known: true}
				_, err := limit.AroundTool(ctx, run, call, func(ctx workflow.Context, call *ToolCall, r *step.Reply) (ToolReply, error) {
					replies[i] = r
					if r == nil && call.Name == ToolTask {
						working++
						most = max(most, working)
						require.NoError(t, workflow.Sleep(ctx, time.Minute))
						working--
					}
					return ToolReply{}, nil
				})
				require.NoError(t, err)
			})
		}
		done.Wait(ctx)
	})
	return replies, most, stop
}

func TestTasksAboveTheConcurrentLimitWait(t *testing.T) {
	t.Parallel()
	replies, most, stop := tasks(t, agent.SubagentRule{MaxConcurrent: 2, MaxTotal: 6}, nil, "task", "bash", "task", "task", "ls", "task")
	require.Equal(t, make([]*step.Reply, 6), replies, "all are run")
	require.Equal(t, 2, most)
	require.Empty(t, stop)
}

func TestTasksAboveTheTotalAreRefused(t *testing.T) {
	t.Parallel()
	ledger := []thread.Delegation{{ID: "a", RunID: "r2"}, {ID: "b", RunID: "r2"}, {ID: "c", RunID: "r2"}, {ID: "old", RunID: "r1"}}
	replies, _, stop := tasks(t, agent.SubagentRule{MaxConcurrent: 2, MaxTotal: 4}, ledger, "task", "bash", "task", "task")
	require.Nil(t, replies[0], "one is left; the earlier run's does not count")
	require.Nil(t, replies[1], "no task")
	for _, i := range []int{2, 3} {
		require.True(t, replies[i].Error)
		require.Contains(t, replies[i].Text, "[SUBAGENT LIMIT REACHED] this run may give 4 tasks")
	}
	require.Equal(t, thread.StopSubagents, stop)
}

func TestTheLimitsOfSubagentsAreClamped(t *testing.T) {
	t.Parallel()
	_, most, _ := tasks(t, agent.SubagentRule{MaxConcurrent: 1}, nil, "task", "task")
	require.Equal(t, 1, most, "1 stays 1")
	replies, most, _ := tasks(t, agent.SubagentRule{MaxConcurrent: 50}, nil, "task", "task", "task", "task", "task", "task", "task")
	require.Equal(t, 4, most)
	require.NotNil(t, replies[6], "the total is 6 when nothing is configured")
}
