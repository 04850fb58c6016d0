package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"deerflow/internal/thread"
)

// runPost is the request that starts a run. Its key makes it safe to repeat.
func runPost(threadID, how string, r *RunRequest) request {
	if r.Key == "" {
		r.Key = uuid.NewString()
	}
	return request{
		method: http.MethodPost, path: threadPath(threadID) + "/runs" + how, body: r,
		header: map[string]string{"Idempotency-Key": r.Key},
	}
}

// StartRun starts a run and returns without waiting for it. A thread that works
// on another one is an [ErrConflict], unless the request says what to do then.
func (c *Client) StartRun(ctx context.Context, threadID string, r RunRequest) (Run, error) {
	var run Run
	_, err := c.do(ctx, runPost(threadID, "", &r), &run)
	return run, err
}

// GetRun reads a run.
func (c *Client) GetRun(ctx context.Context, threadID, runID string) (Run, error) {
	var run Run
	_, err := c.do(ctx, request{method: http.MethodGet, path: runPath(threadID, runID)}, &run)
	return run, err
}

// ListRuns lists the newest runs of a thread, newest first; none for a thread
// that does not exist.
func (c *Client) ListRuns(ctx context.Context, threadID string) ([]Run, error) {
	var runs []Run
	_, err := c.do(ctx, request{method: http.MethodGet, path: threadPath(threadID) + "/runs"}, &runs)
	return runs, err
}

// CancelOptions say how a run is cancelled.
type CancelOptions struct {
	Action thread.CancelAction // interrupt when empty
	Wait   bool                // return when the run has ended
}

// CancelRun stops a run. One that has ended otherwise is an [ErrConflict].
func (c *Client) CancelRun(ctx context.Context, threadID, runID string, o CancelOptions) error {
	query := url.Values{"wait": {"0"}}
	if o.Wait {
		query.Set("wait", "1")
	}
	if o.Action != "" {
		query.Set("action", string(o.Action))
	}
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(threadID, runID) + "/cancel", query: query}, nil)
	return err
}

// Result is what a run left.
type Result struct {
	Values    Values
	Questions []thread.Interrupt // what the thread waits for since
}

// RunError is a run that failed without a message that says so.
type RunError struct {
	RunID   string
	Message string
}

// Error names the run and what happened.
func (e *RunError) Error() string { return fmt.Sprintf("run %s failed: %s", e.RunID, e.Message) }

// Wait waits until a run has ended and gives what it left. Lost connections are
// made again until ctx ends. A run that failed is a [*RunError].
func (c *Client) Wait(ctx context.Context, threadID, runID string) (Result, error) {
	var data []byte
	err := c.persist(ctx, func() (err error) {
		data, err = c.join(ctx, threadID, runID)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	var answer struct {
		Values
		Questions []thread.Interrupt `json:"__interrupt__"`
		Failure   *struct {
			Message string `json:"message"`
		} `json:"__error__"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return Result{}, fmt.Errorf("wait for run %s: decode the answer %q: %w", runID, clip(string(data), 200), err)
	}
	if answer.Failure != nil {
		return Result{}, &RunError{RunID: runID, Message: answer.Failure.Message}
	}
	return Result{Values: answer.Values, Questions: answer.Questions}, nil
}

// join asks once for the end of a run. The server sends newlines until then.
func (c *Client) join(ctx context.Context, threadID, runID string) ([]byte, error) {
	r := request{method: http.MethodGet, path: runPath(threadID, runID) + "/join"}
	ctx, watch := watchSilence(ctx, c.o.Silence)
	defer watch.stop()
	res, err := c.open(ctx, r)
	if err != nil {
		return nil, watch.explain(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(watch.reader(res.Body))
	if err != nil {
		return nil, watch.explain(c.lost(ctx, r, err))
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil, c.lost(ctx, r, io.ErrUnexpectedEOF)
	}
	return data, nil
}

func runPath(threadID, runID string) string {
	return threadPath(threadID) + "/runs/" + url.PathEscape(runID)
}
