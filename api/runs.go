package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// runShape is a run as the API shows it: LangGraph's keys, then DeerFlow's.
type runShape struct {
	RunID       string           `json:"run_id"`
	ThreadID    string           `json:"thread_id"`
	AssistantID string           `json:"assistant_id"`
	CreatedAt   string           `json:"created_at"`
	UpdatedAt   string           `json:"updated_at"`
	Status      thread.RunStatus `json:"status"`
	Metadata    json.RawMessage  `json:"metadata"`
	Kwargs      json.RawMessage  `json:"kwargs"`
	Multitask   thread.Multitask `json:"multitask_strategy"`

	StopReason   *string `json:"stop_reason"`
	Error        *string `json:"error"`
	InputTokens  int     `json:"total_input_tokens"`
	OutputTokens int     `json:"total_output_tokens"`
	TotalTokens  int     `json:"total_tokens"`
	ModelCalls   int     `json:"llm_call_count"`
	LeadTokens   int     `json:"lead_agent_tokens"`
	// Citations tells what the citations of the run's answer and files rest on; it
	// is left out when there are none.
	Citations *citationsShape `json:"citations,omitempty"`
}

func toRunShape(r *store.Run) runShape {
	shape := runShape{
		RunID: r.ID, ThreadID: r.ThreadID, AssistantID: r.AssistantID,
		CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt), Status: r.Status,
		Metadata: objectOr(r.Metadata), Kwargs: objectOr(r.Kwargs), Multitask: r.Multitask,
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, TotalTokens: r.Usage.TotalTokens,
		ModelCalls: r.ModelCalls, LeadTokens: r.Usage.TotalTokens,
	}
	if shape.AssistantID == "" {
		shape.AssistantID = leadAgent
	}
	if shape.Multitask == "" {
		shape.Multitask = thread.MultitaskReject
	}
	if r.StopReason != "" {
		shape.StopReason = &r.StopReason
	}
	if r.Error != "" {
		shape.Error = &r.Error
	}
	return shape
}

func objectOr(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// ownRun gives the run in the path when its thread is the caller's.
func (s *Server) ownRun(c echo.Context) (store.Run, error) {
	t, err := s.ownThread(c)
	if err != nil {
		return store.Run{}, err
	}
	return s.run(c.Request().Context(), t.ID, c.Param("run"))
}

func (s *Server) run(ctx context.Context, threadID, runID string) (store.Run, error) {
	run, err := s.o.Store.GetRun(ctx, threadID, runID)
	return run, storeError(err, runNotFound(runID))
}

func (s *Server) getRun(c echo.Context) error {
	run, err := s.ownRun(c)
	if err != nil {
		return err
	}
	checks, err := s.o.Store.Checks(c.Request().Context(), run.ThreadID, run.ID)
	if err != nil {
		return err
	}
	shape := toRunShape(&run)
	shape.Citations = toCitationsShape(checks[run.ID])
	return c.JSON(http.StatusOK, shape)
}

const maxRunList = 1000

func (s *Server) listRuns(c echo.Context) error {
	query, err := parseRunQuery(c)
	if err != nil {
		return err
	}
	list := []any{}
	t, err := s.ownThread(c)
	var missing *apiError
	if errors.As(err, &missing) && missing.status == http.StatusNotFound {
		return c.JSON(http.StatusOK, list)
	}
	if err != nil {
		return err
	}
	runs, err := s.o.Store.ListRuns(c.Request().Context(), t.ID, query)
	if err != nil {
		return err
	}
	checks, err := s.o.Store.Checks(c.Request().Context(), t.ID, "")
	if err != nil {
		return err
	}
	for i := range runs {
		whole := toRunShape(&runs[i])
		whole.Citations = toCitationsShape(checks[runs[i].ID])
		shape, err := selectKeys(whole, selection(c))
		if err != nil {
			return err
		}
		list = append(list, shape)
	}
	return c.JSON(http.StatusOK, list)
}

func parseRunQuery(c echo.Context) (store.RunQuery, error) {
	query := object{loc: []any{"query"}, raw: map[string]json.RawMessage{}, errs: &[]fieldError{}}
	for _, key := range []string{"limit", "offset"} {
		value := c.QueryParam(key)
		if value == "" {
			continue
		}
		if _, err := strconv.Atoi(value); err != nil {
			query.fault(key, "int_parsing", "Input should be a valid integer, got %q", thread.Prefix(value, 40))
			continue
		}
		query.raw[key] = json.RawMessage(value)
	}
	q := store.RunQuery{
		Limit: query.number("limit", 100, 1, maxRunList), Offset: query.number("offset", 0, 0, 1<<31-1),
		Status: thread.RunStatus(c.QueryParam("status")),
	}
	known := []thread.RunStatus{
		"", thread.RunPending, thread.RunRunning, thread.RunSuccess, thread.RunError, thread.RunTimeout, thread.RunInterrupted,
	}
	if !slices.Contains(known, q.Status) {
		query.fault("status", "literal_error", "Input should be a run status, got %q", thread.Prefix(string(q.Status), 40))
	}
	return q, query.err()
}
