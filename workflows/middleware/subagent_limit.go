package middleware

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// ToolTask is the tool that gives work to a sub-agent.
const ToolTask = "task"

// SubagentLimit bounds the sub-agents of a run: so many at once (3, at most 4), so
// many in all (6, at most 50). DeerFlow drops the calls above either bound without
// a word; here calls above the first one wait for their turn, and each call above
// the second one gets a refusal as its result. Tasks of earlier runs of the thread
// do not count.
type SubagentLimit struct {
	Base
	rule  agent.SubagentRule
	turns workflow.Semaphore
}

// NewSubagentLimit makes the middleware; limits that are not set or out of bounds
// are brought within them.
func NewSubagentLimit(ctx workflow.Context, rule agent.SubagentRule) *SubagentLimit {
	rule = rule.Clamped()
	return &SubagentLimit{rule: rule, turns: workflow.NewSemaphore(ctx, int64(rule.MaxConcurrent))}
}

// Name is SubagentLimit.
func (*SubagentLimit) Name() string { return NameSubagentLimit }

// AfterModel notes that the run has met its limit.
func (l *SubagentLimit) AfterModel(_ workflow.Context, run *Run, reply *ModelReply) (Update, error) {
	if tasksBefore(reply.Message.Calls, len(reply.Message.Calls)) > l.rule.Remaining(run.State.Delegations, run.RunID) {
		return Update{StopReason: thread.StopSubagents}, nil
	}
	return Update{}, nil
}

// AroundTool lets a task wait for its turn, or refuses it.
func (l *SubagentLimit) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if call.Name != ToolTask {
		return next(ctx, call, nil)
	}
	if tasksBefore(callsOf(run, call.Asker), call.Position) >= l.rule.Remaining(run.State.Delegations, run.RunID) {
		return next(ctx, call, &step.Reply{Error: true, Text: fmt.Sprintf(
			"Error: [SUBAGENT LIMIT REACHED] this run may give %d tasks to sub-agents, and has. The task was not started: do it yourself, or answer with what you have.", l.rule.MaxTotal)})
	}
	if err := l.turns.Acquire(ctx, 1); err != nil {
		return ToolReply{}, err
	}
	defer l.turns.Release(1)
	return next(ctx, call, nil)
}

// callsOf are the calls of a message in view.
func callsOf(run *Run, asker string) []thread.CallDigest {
	for i := range run.Messages {
		if run.Messages[i].ID == asker {
			return run.Messages[i].Calls
		}
	}
	return nil
}

// tasksBefore counts the tasks among the first n calls.
func tasksBefore(calls []thread.CallDigest, n int) int {
	tasks := 0
	for _, c := range calls[:min(n, len(calls))] {
		if c.Name == ToolTask {
			tasks++
		}
	}
	return tasks
}
