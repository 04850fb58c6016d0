package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// threadParam is the thread id in the path.
func threadParam(c echo.Context) (string, error) {
	id := c.Param("thread")
	if !thread.ValidID(id) {
		return "", invalidField("string_pattern_mismatch",
			"A thread id has 1 to 64 letters, digits, '_' and '-'", "path", "thread_id")
	}
	return id, nil
}

// ownThread gives the thread in the path when it is the caller's.
func (s *Server) ownThread(c echo.Context) (store.Thread, error) {
	id, err := threadParam(c)
	if err != nil {
		return store.Thread{}, err
	}
	return s.threadOf(c.Request().Context(), ownerOf(c), id)
}

// threadOf gives a thread when it is the user's.
func (s *Server) threadOf(ctx context.Context, user, id string) (store.Thread, error) {
	t, err := s.o.Store.GetThread(ctx, id)
	if err == nil && t.User != user {
		return store.Thread{}, threadNotFound(id)
	}
	return t, storeError(err, threadNotFound(id))
}

// ownView is what the caller sees of their thread now.
func (s *Server) ownView(c echo.Context) (store.View, error) {
	id, err := threadParam(c)
	if err != nil {
		return store.View{}, err
	}
	view, err := s.o.Store.View(c.Request().Context(), id, store.ViewOptions{})
	if err == nil && view.Thread.User != ownerOf(c) {
		return store.View{}, threadNotFound(id)
	}
	return view, storeError(err, threadNotFound(id))
}

func (s *Server) createThread(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	id, d := body.text("thread_id"), dialectOf(c)
	if id != "" && !thread.ValidID(id) {
		body.fault("thread_id", "string_pattern_mismatch", "A thread id has 1 to 64 letters, digits, '_' and '-'")
	}
	metadata := metadataOf(body)
	exists := body.oneOf("if_exists", store.IfExistsRaise, store.IfExistsNothing)
	if d == deerflow {
		exists = store.IfExistsNothing // its clients create a thread again before each first message
	}
	body.unsupported("supersteps") // a ttl changes nothing: threads stay until they are deleted
	if err := body.err(); err != nil {
		return err
	}
	if id == "" {
		id = uuid.NewString()
	}
	t, err := s.o.Store.CreateThread(c.Request().Context(),
		store.NewThread{ID: id, User: ownerOf(c), Metadata: metadata}, exists)
	if errors.Is(err, store.ErrExists) {
		return fail(http.StatusConflict, "Thread %s already exists", id)
	}
	if err != nil {
		return storeError(err, threadNotFound(id))
	}
	view, err := s.o.Store.View(c.Request().Context(), t.ID, store.ViewOptions{})
	if err != nil {
		return storeError(err, threadNotFound(id))
	}
	return answerThread(c, &view)
}

// metadataOf reads the metadata of a request, without the keys that only the
// server may set. It is nil when there is none.
func metadataOf(body object) json.RawMessage {
	fields := body.child("metadata").raw
	if fields == nil {
		return nil
	}
	delete(fields, "owner_id")
	delete(fields, "user_id")
	data, err := json.Marshal(fields)
	if err != nil {
		body.fault("metadata", "dict_type", "Input should be a valid object: %v", err)
	}
	return data
}

// answerThread answers with a thread and all its values.
func answerThread(c echo.Context, view *store.View) error {
	values, err := valuesOf(view)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toThreadShape(&view.Thread, values))
}

func (s *Server) getThread(c echo.Context) error {
	view, err := s.ownView(c)
	if err != nil {
		return err
	}
	return answerThread(c, &view)
}

func (s *Server) patchThread(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	raw := metadataOf(body)
	if err := body.err(); err != nil {
		return err
	}
	var metadata map[string]any
	if raw != nil {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return invalidField("dict_type", err.Error(), "body", "metadata")
		}
	}
	ctx := c.Request().Context()
	if _, err := s.o.Store.PatchThread(ctx, t.ID, metadata); err != nil {
		return storeError(err, threadNotFound(t.ID))
	}
	if c.Request().Header.Get("Prefer") == "return=minimal" {
		return c.NoContent(http.StatusNoContent)
	}
	return s.getThread(c)
}

func (s *Server) deleteThread(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context()) // half a deletion helps nobody
	if err := s.removeThread(ctx, &t); err != nil {
		return err
	}
	if dialectOf(c) == platform {
		return c.NoContent(http.StatusNoContent)
	}
	return c.JSON(http.StatusOK, map[string]any{"success": true, "message": "Deleted thread " + t.ID})
}

// activeRun is the id of a run of a thread that has not ended: the one that
// runs, else the oldest that waits; "" when there is none.
func (s *Server) activeRun(ctx context.Context, threadID string) (string, error) {
	for _, status := range []thread.RunStatus{thread.RunRunning, thread.RunPending} {
		runs, err := s.o.Store.ListRuns(ctx, threadID, store.RunQuery{Status: status})
		if err != nil {
			return "", err
		}
		if len(runs) > 0 {
			return runs[len(runs)-1].ID, nil
		}
	}
	return "", nil
}
