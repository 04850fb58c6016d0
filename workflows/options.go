package workflows

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// heartbeat is how long a lost worker goes unnoticed: part of the promise that a
// run goes on within 3 s of a kill.
const heartbeat = 4 * time.Second

// summaryBytes is what Temporal allows for an activity's summary, with room.
const summaryBytes = 180

// startRunOptions: pure reads and idempotent writes; outages up to ten minutes.
func startRunOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		HeartbeatTimeout:    heartbeat,
		Summary:             "start the run",
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second, MaximumAttempts: 45,
		},
	})
}

// modelOptions: the one retry layer of a model call, bounded by count and time.
func modelOptions(ctx workflow.Context, l *loop) workflow.Context {
	p := l.Plan.ModelCall
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: p.Timeout,
		HeartbeatTimeout:    heartbeat,
		Summary:             thread.Prefix(fmt.Sprintf("model %s · turn %d", l.Plan.Model, l.Turn), summaryBytes),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: p.BaseDelay, BackoffCoefficient: 2, MaximumInterval: p.MaxDelay,
			MaximumAttempts: p.MaxAttempts,
		},
	})
}

// toolOptions: every class has five attempts, for what differs is what a second
// one does. A read runs again; a write finds its own effect; an unsafe tool that
// was started once only reports that it may have run. A tool's failure is a
// result, so all attempts are for lost workers; one that stands still may take a
// task or two with it before the server hangs up.
func toolOptions(ctx workflow.Context, call *middleware.ToolCall, reply *step.Reply) workflow.Context {
	timeout := call.Tool.Timeout
	if timeout <= 0 || reply != nil {
		timeout = time.Minute
	}
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout + 15*time.Second,
		HeartbeatTimeout:    heartbeat,
		Summary:             toolSummary(call),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second, MaximumAttempts: 5,
		},
	})
}

// toolSummary is one line for the Web UI: the tool and what it works on.
func toolSummary(call *middleware.ToolCall) string {
	text := agent.Salient(call.Args)
	if text == "" {
		text = words(call.Args)
	}
	if text != "" {
		return thread.Prefix(call.Name+": "+text, summaryBytes)
	}
	return thread.Prefix(call.Name, summaryBytes)
}

// words is what the tools that talk to the person are about: the question, or
// the files that they present.
func words(raw json.RawMessage) string {
	var args struct {
		Question any `json:"question"`
		Files    any `json:"filepaths"`
	}
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	if question, ok := args.Question.(string); ok {
		return strings.Join(strings.Fields(question), " ")
	}
	var names []string
	files, _ := args.Files.([]any)
	for _, file := range files {
		if name, ok := file.(string); ok {
			names = append(names, path.Base(name))
		}
	}
	return strings.Join(names, ", ")
}

// How long one try of a local activity may take. A commit is small, and must not
// hold up a stop; to load a thread is to read all that is in view, and nobody
// can wait for anything else meanwhile.
const (
	longestCommit = time.Second
	longestLoad   = time.Minute
)

func localOptions(ctx workflow.Context, name string) workflow.Context {
	timeout := longestCommit
	if name == step.LoadThread {
		timeout = longestLoad
	}
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: timeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, BackoffCoefficient: 1, MaximumAttempts: 1},
	})
}
