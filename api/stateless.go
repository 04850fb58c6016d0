package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// stateless is a run that names no thread in its path: config.configurable may
// name one, otherwise it gets one of its own, which goes with it.
type stateless struct {
	thread    string
	temporary bool // the thread is deleted some time after the run's end
	made      bool // the thread was made for the run
	request   runRequest
}

// parseStateless checks the body of a stateless run.
func (s *Server) parseStateless(c echo.Context, body object) (stateless, error) {
	r := stateless{thread: body.child("config").child("configurable").text("thread_id")}
	if r.thread == "" {
		r.thread, r.made = uuid.NewString(), true
	} else if !thread.ValidID(r.thread) {
		return r, invalidField("string_pattern_mismatch", "A thread id has 1 to 64 letters, digits, '_' and '-'",
			"body", "config", "configurable", "thread_id")
	}
	r.temporary = r.made && body.oneOf("on_completion", "delete", "keep") == "delete"
	delete(body.raw, "on_completion") // it is done here
	var err error
	if r.request, err = s.parseRun(c, body, r.thread); err != nil {
		return r, err
	}
	if r.made && r.request.resume != nil {
		return r, invalidField("value_error", "A run without a thread has no question to answer", "body", "command", "resume")
	}
	r.request.createThread = true
	if r.temporary { // nobody can come back to answer
		r.request.options.DisableClarification = true
	}
	return r, nil
}

// start makes the thread and submits the run. Nothing stays of a run that is
// refused.
func (s *Server) startStateless(c echo.Context, r *stateless) (store.Run, error) {
	ctx := context.WithoutCancel(c.Request().Context())
	if !r.temporary {
		return s.submitTo(c, r.thread, &r.request)
	}
	s.sweepOnce.Do(func() { s.background(s.sweepTemporary) })
	_, err := s.o.Store.CreateThread(ctx, store.NewThread{ID: r.thread, User: ownerOf(c), Metadata: temporaryMetadata()}, store.IfExistsRaise)
	if err != nil {
		return store.Run{}, fmt.Errorf("make a thread for a run without one: %w", err)
	}
	run, err := s.submitTo(c, r.thread, &r.request)
	if err != nil {
		if gone := s.o.Store.DeleteThread(ctx, r.thread); gone != nil {
			s.o.Logger.Warn("Remove the thread of a run that was refused", "thread", r.thread, "error", gone)
		}
	}
	return run, err
}

// submitStateless reads, checks and starts a stateless run.
func (s *Server) submitStateless(c echo.Context) (store.Run, stateless, error) {
	body, err := readObject(c)
	if err != nil {
		return store.Run{}, stateless{}, err
	}
	r, err := s.parseStateless(c, body)
	if err != nil {
		return store.Run{}, r, err
	}
	run, err := s.startStateless(c, &r)
	return run, r, err
}

// temporaryGrace is how long a temporary thread stays after the end of its run
// for those who come back to it.
const temporaryGrace = 5 * time.Minute

func (s *Server) createStateless(c echo.Context) error {
	run, r, err := s.submitStateless(c)
	if err != nil {
		return err
	}
	s.discardLater(&run, &r, temporaryGrace)
	runLocation(c, &run)
	return c.JSON(http.StatusOK, toRunShape(&run))
}

func (s *Server) streamStateless(c echo.Context) error {
	run, r, err := s.submitStateless(c)
	if err != nil {
		return err
	}
	delivered, err := s.stream(c, &run, r.request.modes, r.request.cancelOnDrop)
	s.discardLater(&run, &r, graceAfter(delivered))
	return err
}

func (s *Server) waitStateless(c echo.Context) error {
	run, r, err := s.submitStateless(c)
	if err != nil {
		return err
	}
	err = s.answerValues(c, &run, r.request.cancelOnDrop)
	s.discardLater(&run, &r, graceAfter(err == nil && c.Request().Context().Err() == nil))
	return err
}

// graceAfter is how long a temporary thread is kept after its run: no longer
// than the answer takes, if that was delivered.
func graceAfter(delivered bool) time.Duration {
	if delivered {
		return 0
	}
	return temporaryGrace
}

const maxBatch = 100

// createBatch starts several stateless runs. When one is refused, those before
// it are stopped.
func (s *Server) createBatch(c echo.Context) error {
	bodies, err := readObjects(c, maxBatch)
	if err != nil {
		return err
	}
	list := make([]stateless, len(bodies))
	for i, body := range bodies {
		if list[i], err = s.parseStateless(c, body); err != nil {
			return err
		}
	}
	runs := make([]runShape, 0, len(list))
	for i := range list {
		run, err := s.startStateless(c, &list[i])
		if err != nil {
			for _, started := range runs {
				s.cancelAbandoned(c.Request().Context(), ownerOf(c), started.ThreadID, started.RunID)
			}
			return err
		}
		s.discardLater(&run, &list[i], temporaryGrace)
		runs = append(runs, toRunShape(&run))
	}
	return c.JSON(http.StatusOK, runs)
}

// discardLater deletes the thread of a run, if it is temporary, after the end of
// the run and the grace. What a process that stops leaves behind is found by the
// next one.
func (s *Server) discardLater(run *store.Run, r *stateless, grace time.Duration) {
	if !r.temporary {
		return
	}
	s.background(func(ctx context.Context) {
		if _, err := s.follow(ctx, followed{thread: run.ThreadID, run: run.ID}, silent{heartbeat: s.o.Heartbeat}); err != nil {
			return // the server stops, or somebody has deleted the thread
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			s.discard(ctx, run.ThreadID)
		}
	})
}

// discard deletes a temporary thread that nothing runs on.
func (s *Server) discard(ctx context.Context, id string) {
	t, err := s.o.Store.GetThread(ctx, id)
	if err == nil {
		err = s.removeThread(ctx, &t)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
		s.o.Logger.Warn("Delete the thread of a run that has ended", "thread", id, "error", err)
	}
}

// sweepTemporary deletes temporary threads whose run ended a while ago: a
// process before this one has not come to it.
func (s *Server) sweepTemporary(ctx context.Context) {
	threads, _, err := s.o.Store.SearchThreads(ctx, store.ThreadQuery{Metadata: map[string]any{temporaryKey: true}, Limit: maxSearchLimit})
	if err != nil {
		s.o.Logger.Warn("Look for temporary threads", "error", err)
		return
	}
	for i := range threads {
		if s.o.Now().Sub(threads[i].UpdatedAt) > temporaryGrace && threads[i].Status != thread.StatusBusy {
			s.discard(ctx, threads[i].ID)
		}
	}
}

// joinStreamByID joins a run that is named by its id alone.
func (s *Server) joinStreamByID(c echo.Context) error {
	run, err := s.o.Store.FindRun(c.Request().Context(), ownerOf(c), c.Param("run"))
	if err != nil {
		return storeError(err, runNotFound(c.Param("run")))
	}
	modes, err := queryModes(c, &run)
	if err != nil {
		return err
	}
	cancelOnDrop, err := cancelOnDisconnect(c)
	if err != nil {
		return err
	}
	_, err = s.stream(c, &run, modes, cancelOnDrop)
	return err
}

// readObjects reads the JSON list of objects in the body.
func readObjects(c echo.Context, most int) ([]object, error) {
	data, err := readBody(c)
	if err != nil {
		return nil, err
	}
	if !json.Valid(data) {
		return nil, invalidField("json_invalid", "The body is not valid JSON: "+jsonFault(data), "body")
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, invalidField("list_type", "The body should be a JSON list of objects", "body")
	}
	if len(items) > most {
		return nil, invalidField("too_long", fmt.Sprintf("At most %d runs can be started at once", most), "body")
	}
	list := make([]object, len(items))
	for i := range items {
		if items[i] == nil {
			return nil, invalidField("dict_type", "Input should be an object", "body", i)
		}
		list[i] = object{loc: []any{"body", i}, raw: items[i], errs: &[]fieldError{}}
	}
	return list, nil
}
