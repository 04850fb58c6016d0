package activities

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/activity"

	"deerflow/internal/agent"
	"deerflow/internal/audit"
	"deerflow/internal/step"
	"deerflow/internal/tools"
)

// obey does to the result of a call what middlewares asked for. It comes after the
// result was classified: a synopsis says less than the text that it stands for.
func (a *Activities) obey(ctx context.Context, in step.CallToolInput, plan *agent.Plan, result tools.Result) (tools.Result, error) {
	if result.Interrupt != nil {
		return result, nil // a question has limits of its own
	}
	rules := in.Rules
	if rules.Neutralize {
		result.Text = agent.Neutralize(result.Text)
	}
	if rules.Note != "" {
		result.Text += "\n\n" + rules.Note
	}
	if rules.Budget && plan.Summary.ToolOutput != nil {
		var err error
		if result.Text, err = a.budget(ctx, in, plan.Summary.ToolOutput, result.Text); err != nil {
			return result, err
		}
	}
	return result, nil
}

// largestResult is what a tool may give when the budget bounds it afterwards, in
// bytes: as much as a file of a result holds.
const largestResult = 5_000_000

// logCommand writes a shell command with its verdict to the log, once a call.
func (a *Activities) logCommand(ctx context.Context, in step.CallToolInput, spec agent.ToolSpec) {
	if spec.Shell == "" || activity.GetInfo(ctx).Attempt > 1 {
		return
	}
	call, err := a.callOf(ctx, in)
	if err != nil {
		return // a call that cannot be run has no command
	}
	command, _ := spec.ShellCommand(call)
	shown, cut := audit.Shown(command)
	record := struct {
		Timestamp string `json:"timestamp"`
		Thread    string `json:"thread_id"`
		Command   string `json:"command"`
		Length    int    `json:"length,omitempty"` // bytes, of a command that is cut
		Verdict   string `json:"verdict"`
	}{Timestamp: time.Now().UTC().Format(time.RFC3339), Thread: in.Thread, Command: shown, Verdict: audit.Command(command).Level.String()}
	if cut {
		record.Length = len(command)
	}
	data, err := json.Marshal(record)
	if err != nil {
		return
	}
	a.o.Logger.Info("Shell command audited", "audit", json.RawMessage(data))
}
