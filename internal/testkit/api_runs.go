package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Run is a run as the API shows it.
type Run struct {
	RunID       string         `json:"run_id"`
	ThreadID    string         `json:"thread_id"`
	AssistantID string         `json:"assistant_id"`
	Status      string         `json:"status"` // pending, running, success, error, timeout, interrupted
	CreatedAt   string         `json:"created_at"`
	UpdatedAt   string         `json:"updated_at"`
	StopReason  string         `json:"stop_reason"`
	Metadata    map[string]any `json:"metadata"`
}

// Finished reports whether the run has come to its end.
func (r Run) Finished() bool {
	return r.Status != "pending" && r.Status != "running"
}

// RunRequest starts a run. Zero fields are not sent.
type RunRequest struct {
	AssistantID       string // empty means lead_agent
	Input             any
	Command           any
	StreamMode        []string
	Config            map[string]any
	Context           map[string]any
	Metadata          map[string]any
	MultitaskStrategy string
	OnDisconnect      string
	IfNotExists       string
	Extra             map[string]any // further keys; they win
}

// Say is the request that sends one user message.
func Say(text string) RunRequest {
	return RunRequest{Input: map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}}}
}

// Resume is the request that answers an interrupt.
func Resume(answer any) RunRequest {
	return RunRequest{Command: map[string]any{"resume": answer}}
}

// MarshalJSON returns the body of the request.
func (r RunRequest) MarshalJSON() ([]byte, error) {
	body := map[string]any{"assistant_id": r.AssistantID}
	if r.AssistantID == "" {
		body["assistant_id"] = "lead_agent"
	}
	for key, value := range map[string]any{"input": r.Input, "command": r.Command} {
		if value != nil {
			body[key] = value
		}
	}
	for key, value := range map[string]map[string]any{"config": r.Config, "context": r.Context, "metadata": r.Metadata} {
		if value != nil {
			body[key] = value
		}
	}
	for key, value := range map[string]string{
		"multitask_strategy": r.MultitaskStrategy,
		"on_disconnect":      r.OnDisconnect,
		"if_not_exists":      r.IfNotExists,
	} {
		if value != "" {
			body[key] = value
		}
	}
	if r.StreamMode != nil {
		body["stream_mode"] = r.StreamMode
	}
	maps.Copy(body, r.Extra)
	return json.Marshal(body)
}

// StreamRun starts a run and returns its event stream. The stream lives until
// [SSE.Close]; ctx bounds only the wait for the answer.
func (a *API) StreamRun(ctx context.Context, threadID string, run RunRequest) (*SSE, error) {
	return a.openStream(ctx, http.MethodPost, threadPath(threadID)+"/runs/stream", run, "")
}

// CreateRun starts a run in the background.
func (a *API) CreateRun(ctx context.Context, threadID string, run RunRequest) (Run, error) {
	var created Run
	_, err := a.Do(ctx, http.MethodPost, threadPath(threadID)+"/runs", run, &created)
	return created, err
}

// WaitRun starts a run and waits for its final values.
func (a *API) WaitRun(ctx context.Context, threadID string, run RunRequest) (Values, error) {
	var values Values
	_, err := a.Do(ctx, http.MethodPost, threadPath(threadID)+"/runs/wait", run, &values)
	return values, err
}

// JoinRun waits for the final values of a run that was started before.
func (a *API) JoinRun(ctx context.Context, threadID, runID string) (Values, error) {
	var values Values
	_, err := a.Do(ctx, http.MethodGet, runPath(threadID, runID)+"/join", nil, &values)
	return values, err
}

// JoinStream opens the event stream of a run that was started before, after
// lastEventID: "" and "-1" mean from the start.
func (a *API) JoinStream(ctx context.Context, threadID, runID, lastEventID string) (*SSE, error) {
	return a.openStream(ctx, http.MethodGet, runPath(threadID, runID)+"/stream", nil, lastEventID)
}

// Run returns a run.
func (a *API) Run(ctx context.Context, threadID, runID string) (Run, error) {
	var run Run
	_, err := a.Do(ctx, http.MethodGet, runPath(threadID, runID), nil, &run)
	return run, err
}

// Runs lists the runs of a thread, the newest first.
func (a *API) Runs(ctx context.Context, threadID string) ([]Run, error) {
	var runs []Run
	_, err := a.Do(ctx, http.MethodGet, threadPath(threadID)+"/runs?limit=1000", nil, &runs)
	return runs, err
}

// CancelOptions says how to cancel a run.
type CancelOptions struct {
	Wait   bool   // answer when the run has ended
	Action string // interrupt or rollback; empty leaves it to the server
}

// CancelRun cancels a run.
func (a *API) CancelRun(ctx context.Context, threadID, runID string, o CancelOptions) error {
	query := url.Values{"wait": {"0"}}
	if o.Wait {
		query.Set("wait", "1")
	}
	if o.Action != "" {
		query.Set("action", o.Action)
	}
	_, err := a.Do(ctx, http.MethodPost, runPath(threadID, runID)+"/cancel?"+query.Encode(), nil, nil)
	return err
}

// AwaitRun asks for a run until it has one of the statuses, or has finished
// when none is named, and returns it.
func (a *API) AwaitRun(ctx context.Context, threadID, runID string, statuses ...string) (Run, error) {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		run, err := a.Run(ctx, threadID, runID)
		if err != nil {
			return run, err
		}
		if slices.Contains(statuses, run.Status) || len(statuses) == 0 && run.Finished() {
			return run, nil
		}
		if run.Finished() {
			return run, fmt.Errorf("run %s ended with status %s, not %s", runID, run.Status, strings.Join(statuses, " or "))
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return run, fmt.Errorf("wait for run %s, which is %s: %w", runID, run.Status, ctx.Err())
		}
	}
}

func runPath(threadID, runID string) string {
	return threadPath(threadID) + "/runs/" + url.PathEscape(runID)
}
