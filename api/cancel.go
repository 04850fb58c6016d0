package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

// cancelRequest is the query of a cancel.
type cancelRequest struct {
	wait   bool
	action thread.CancelAction
}

func parseCancel(c echo.Context) (cancelRequest, error) {
	r := cancelRequest{action: thread.CancelInterrupt}
	var err error
	if r.wait, err = queryFlag(c, "wait", false); err != nil {
		return r, err
	}
	switch action := thread.CancelAction(c.QueryParam("action")); action {
	case "", thread.CancelInterrupt:
	case thread.CancelRollback:
		r.action = action
	default:
		return r, invalidField("literal_error", "Input should be 'interrupt' or 'rollback'", "query", "action")
	}
	return r, nil
}

func (s *Server) cancelRun(c echo.Context) error {
	request, err := parseCancel(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, run, err := s.runToStop(c)
	if errors.Is(err, errStoreSlow) {
		return s.stopUnseen(c, request)
	}
	if err != nil {
		return err
	}
	if err := s.stopRun(ctx, &t, &run, request.action); err != nil {
		return err
	}
	if !request.wait {
		return c.NoContent(http.StatusAccepted)
	}
	if err := s.awaitEnd(ctx, &run); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// stopRun asks the thread to stop a run. One that was stopped already is fine,
// unless it should have been rolled back: it was not.
func (s *Server) stopRun(ctx context.Context, t *store.Thread, run *store.Run, action thread.CancelAction) error {
	if run.Status == thread.RunInterrupted && action != thread.CancelRollback {
		return nil
	}
	if run.Status.Terminal() && !s.waitsForAnswer(ctx, t, run) {
		return notCancellable(run)
	}
	err := s.cancel(ctx, run.User, run.ThreadID, step.CancelRun{RunID: run.ID, Action: action})
	switch {
	case err == nil || errors.Is(err, threadclient.ErrNoWorker):
		return nil // without a worker the thread takes it when one is back
	case errors.Is(err, threadclient.ErrUnavailable):
		return unavailable(err)
	case refusal(err) == nil:
		return err
	}
	return s.stopRefused(ctx, run, action, refusal(err))
}

// stopRefused is what a stop comes to that the thread refuses. A run that it has
// never taken, since it was acknowledged without a worker and is still on its way,
// ends in the store: the thread drops it when it comes.
func (s *Server) stopRefused(ctx context.Context, run *store.Run, action thread.CancelAction, no *threadclient.RefusedError) error {
	now, err := s.run(ctx, run.ThreadID, run.ID)
	if err != nil {
		return err
	}
	if now.Status == thread.RunPending && no.Type == step.ErrUnknownRun {
		end := thread.End{RunID: run.ID, Status: thread.RunInterrupted, StopReason: thread.StopCancelled}
		err := s.o.Store.EndWaiting(context.WithoutCancel(ctx), run.ThreadID, end)
		if !errors.Is(err, store.ErrNotPending) {
			return err
		}
		// It has started in this moment: it may be stopped again.
	}
	if now.Status == thread.RunInterrupted && action != thread.CancelRollback {
		return nil
	}
	return notCancellable(&now)
}

// cancel hands a cancel to the thread. A run that had not started ends at once:
// its thread may be busy for long yet, and a thread that is lost meanwhile would
// not know of the cancel.
func (s *Server) cancel(ctx context.Context, user, threadID string, r step.CancelRun) error {
	out, err := s.o.Threads.Cancel(ctx, user, threadID, uuid.NewString(), r)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if !out.Waiting {
		s.noteStop(ctx, threadID, out.RunID, r.Action)
		failpoint.Here(failpoint.CancelTaken, threadID)
		return nil
	}
	end := thread.End{RunID: r.RunID, Status: thread.RunInterrupted, StopReason: thread.StopCancelled}
	return s.o.Store.EndWaiting(ctx, threadID, end)
}

// noteTime bounds the wait for a database that is locked: the stop is taken, and
// only a Temporal that loses its own database as well would forget it.
const noteTime = 2 * time.Second

// noteStop stores a stop that was taken, so that a thread which is started again
// from the store does not go on with the run.
func (s *Server) noteStop(ctx context.Context, threadID, runID string, action thread.CancelAction) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	if err := s.o.Store.NoteStop(ctx, threadID, runID, action); err != nil && !errors.Is(err, store.ErrThreadGone) {
		s.o.Logger.Warn("A stop was taken and could not be noted", "thread", threadID, "run", runID, "error", err)
	}
}

// waitsForAnswer reports whether a run, though it has ended, is the one whose
// question the thread waits with: cancelling closes the question.
func (s *Server) waitsForAnswer(ctx context.Context, t *store.Thread, run *store.Run) bool {
	if t.Status != thread.StatusInterrupted {
		return false
	}
	newest, err := s.o.Store.ListRuns(ctx, t.ID, store.RunQuery{Limit: 1})
	return err == nil && len(newest) == 1 && newest[0].ID == run.ID
}

func notCancellable(run *store.Run) *apiError {
	return fail(http.StatusConflict, "Run %s is not cancellable (status: %s)", run.ID, run.Status)
}

// awaitEnd waits until a run has ended.
func (s *Server) awaitEnd(ctx context.Context, run *store.Run) error {
	if run.Status.Terminal() {
		return nil
	}
	ctx, stop := s.untilClosed(ctx)
	defer stop()
	_, err := s.follow(ctx, followed{thread: run.ThreadID, run: run.ID}, silent{heartbeat: s.o.Heartbeat})
	if s.closed() {
		return &apiError{status: http.StatusServiceUnavailable, detail: "The server is shutting down; the run is being cancelled", retry: 1}
	}
	return err
}

// cancelAbandoned stops a run whose client has gone and had asked for that.
func (s *Server) cancelAbandoned(ctx context.Context, user, threadID, runID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err := s.cancel(ctx, user, threadID, step.CancelRun{RunID: runID, Action: thread.CancelInterrupt})
	if err != nil && refusal(err) == nil {
		s.o.Logger.Warn("Cancel a run whose client has gone", "thread", threadID, "run", runID, "error", err)
	}
}
