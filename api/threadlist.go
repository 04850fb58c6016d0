package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/filetree"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// countThreads answers how many threads a search would find.
func (s *Server) countThreads(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	search := parseSearch(body, ownerOf(c), dialectOf(c))
	if err := body.err(); err != nil {
		return err
	}
	search.query.Limit, search.query.Offset = 1, 0
	_, total, err := s.o.Store.SearchThreads(c.Request().Context(), search.query)
	if err != nil {
		return storeError(err, fail(http.StatusNotFound, "No threads"))
	}
	return c.JSON(http.StatusOK, total)
}

// maxPrune is how many threads one request may name.
const maxPrune = 1000

// pruneThreads deletes the threads that the request names. Those that are not
// the caller's are left out, like those that do not exist.
func (s *Server) pruneThreads(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	ids := body.texts("thread_ids")
	body.oneOf("strategy", "delete")
	if len(ids) > maxPrune {
		body.fault("thread_ids", "too_long", "At most %d threads can be pruned at once", maxPrune)
	}
	if err := body.err(); err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context())
	pruned := 0
	for _, id := range ids {
		t, err := s.threadOf(ctx, ownerOf(c), id)
		var missing *apiError
		if errors.As(err, &missing) && missing.status == http.StatusNotFound {
			continue
		}
		if err == nil {
			err = s.removeThread(ctx, &t)
		}
		if err != nil {
			return err
		}
		pruned++
	}
	return c.JSON(http.StatusOK, map[string]int{"pruned_count": pruned})
}

// copyThread makes a thread with the transcript, the state and the files of
// another one.
func (s *Server) copyThread(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context()) // half a copy helps nobody
	id := uuid.NewString()
	from, to := FileOwner{User: t.User, Thread: t.ID}, FileOwner{User: t.User, Thread: id}
	if err := s.o.Files.CopyThread(ctx, from, to); err != nil {
		if errors.Is(err, filetree.ErrTooDeep) {
			err = &apiError{status: http.StatusConflict, detail: "The files of the thread cannot be copied: " + filetree.ErrTooDeep.Error(), cause: err}
		}
		if gone := s.o.Files.RemoveThread(ctx, to); gone != nil {
			s.o.Logger.Warn("Remove the files of a copy that failed", "thread", id, "error", gone)
		}
		return err
	}
	if _, err = s.o.Store.CopyThread(ctx, t.ID, id); err != nil {
		if gone := s.o.Files.RemoveThread(ctx, to); gone != nil {
			s.o.Logger.Warn("Remove the files of a copy that failed", "thread", id, "error", gone)
		}
		if errors.Is(err, store.ErrActive) {
			return s.inFlight(ctx, t.ID, "Cancel it, or wait for its end, before the thread is copied.")
		}
		return storeError(err, threadNotFound(t.ID))
	}
	view, err := s.o.Store.View(ctx, id, store.ViewOptions{})
	if err != nil {
		return storeError(err, threadNotFound(id))
	}
	return answerThread(c, &view)
}

// inFlight is the refusal of what a thread with an active run cannot take.
func (s *Server) inFlight(ctx context.Context, threadID, advice string) error {
	active, err := s.activeRun(ctx, threadID)
	if err != nil {
		return err
	}
	return &apiError{
		status: http.StatusConflict, detail: "Thread has a run in flight. " + advice, more: map[string]any{"run_id": active},
	}
}

// temporaryKey marks, in its metadata, a thread that lives as long as its run.
const temporaryKey = "deerflow_temporary"

func temporaryMetadata() json.RawMessage { return json.RawMessage(`{"` + temporaryKey + `":true}`) }

// removeThread deletes a thread that no run is active on: its workflow, its files
// and its rows, in this order, so that what has failed can be asked for again.
func (s *Server) removeThread(ctx context.Context, t *store.Thread) error {
	if active, err := s.activeRun(ctx, t.ID); err != nil {
		return err
	} else if active != "" || t.Status == thread.StatusBusy {
		return s.inFlight(ctx, t.ID, "Cancel it before the thread is deleted.")
	}
	if err := s.o.Threads.Stop(ctx, t.ID); err != nil {
		return temporalError(err)
	}
	if err := s.o.Files.RemoveThread(ctx, FileOwner{User: t.User, Thread: t.ID}); err != nil {
		return err
	}
	return storeError(s.o.Store.DeleteThread(ctx, t.ID), threadNotFound(t.ID))
}
