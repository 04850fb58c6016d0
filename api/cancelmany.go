package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// cancelMany is a request to stop several runs: those of a list, or all that
// have not ended.
type cancelMany struct {
	thread string
	runs   []string
	status thread.RunStatus // pending, running, or "" for both
}

func parseCancelMany(body object) (cancelMany, error) {
	r := cancelMany{thread: body.text("thread_id"), runs: body.texts("run_ids")}
	switch status := body.oneOf("status", "", "pending", "running", "all"); {
	case status == "" && len(r.runs) == 0:
		body.fault("run_ids", "missing", "Name runs by run_ids, or all of them by status")
	case status != "" && len(r.runs) > 0:
		body.fault("status", "value_error", "Name runs by run_ids or by status, not by both")
	case status != "all":
		r.status = thread.RunStatus(status)
	}
	return r, body.err()
}

// cancelRuns stops several runs. Those that have ended meanwhile are fine.
func (s *Server) cancelRuns(c echo.Context) error {
	query, err := parseCancel(c)
	if err != nil {
		return err
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	request, err := parseCancelMany(body)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context())
	runs, err := s.runsToCancel(ctx, ownerOf(c), &request)
	if err != nil {
		return err
	}
	for i := range runs {
		t, err := s.threadOf(ctx, ownerOf(c), runs[i].ThreadID)
		if err != nil {
			return err
		}
		var refused *apiError
		err = s.stopRun(ctx, &t, &runs[i], query.action)
		if err != nil && (!errors.As(err, &refused) || refused.status != http.StatusConflict) {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// runsToCancel finds the runs; one that is not the user's, or not of the named
// thread, is not found.
func (s *Server) runsToCancel(ctx context.Context, user string, r *cancelMany) ([]store.Run, error) {
	if len(r.runs) == 0 {
		live, err := s.o.Store.LiveRuns(ctx, user, r.status)
		if err != nil || r.thread == "" {
			return live, err
		}
		kept := live[:0]
		for i := range live {
			if live[i].ThreadID == r.thread {
				kept = append(kept, live[i])
			}
		}
		return kept, nil
	}
	if r.thread != "" {
		if _, err := s.threadOf(ctx, user, r.thread); err != nil {
			return nil, err
		}
	}
	runs := make([]store.Run, 0, len(r.runs))
	for _, id := range r.runs {
		var run store.Run
		var err error
		if r.thread != "" {
			run, err = s.o.Store.GetRun(ctx, r.thread, id)
		} else {
			run, err = s.o.Store.FindRun(ctx, user, id)
		}
		if err != nil {
			return nil, storeError(err, runNotFound(id))
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// deleteRun removes a run that has ended from the list. What it wrote stays.
func (s *Server) deleteRun(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	run, err := s.run(ctx, t.ID, c.Param("run"))
	if err != nil {
		return err
	}
	if s.waitsForAnswer(ctx, &t, &run) {
		return fail(http.StatusConflict, "Run %s waits for an answer. Cancel it before it is deleted.", run.ID)
	}
	err = s.o.Store.DeleteRun(ctx, t.ID, run.ID)
	if errors.Is(err, store.ErrActive) {
		return fail(http.StatusConflict, "Run %s has not ended. Cancel it before it is deleted.", run.ID)
	}
	if err != nil {
		return storeError(err, runNotFound(run.ID))
	}
	return c.NoContent(http.StatusNoContent)
}
