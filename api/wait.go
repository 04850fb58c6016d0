package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// keepAlive is a JSON answer that is not there yet: newlines before it keep
// proxies from giving up, and parsers skip them.
type keepAlive struct {
	c         echo.Context
	heartbeat time.Duration
	last      time.Time
}

func (k *keepAlive) frame(frame) error { return nil }

func (k *keepAlive) notice(string) error { return nil }

func (k *keepAlive) settle() error {
	if time.Since(k.last) < k.heartbeat {
		return nil
	}
	k.last = time.Now()
	r := k.c.Response()
	if !r.Committed {
		r.Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
		r.WriteHeader(http.StatusOK)
	}
	if _, err := r.Write([]byte("\n")); err != nil {
		return errors.Join(errClientGone, err)
	}
	if err := http.NewResponseController(r).Flush(); err != nil {
		return errors.Join(errClientGone, err)
	}
	return nil
}

func (k *keepAlive) due() time.Duration { return untilDue(k.last, k.heartbeat) }

// silent is a sink for those who only wait for the end of a run.
type silent struct{ heartbeat time.Duration }

func (silent) frame(frame) error    { return nil }
func (silent) notice(string) error  { return nil }
func (silent) settle() error        { return nil }
func (s silent) due() time.Duration { return s.heartbeat }
func isGone(err error) bool         { return errors.Is(err, errClientGone) }
func acceptsStream(c echo.Context) bool {
	return strings.Contains(c.Request().Header.Get("Accept"), "text/event-stream")
}

func (s *Server) createAndWait(c echo.Context) error {
	run, request, err := s.submit(c)
	if err != nil {
		return err
	}
	return s.answerValues(c, &run, request.cancelOnDrop)
}

// joinRun waits for the end of a run and answers with the values, or with the
// stream when the client can only read that.
func (s *Server) joinRun(c echo.Context) error {
	if acceptsStream(c) {
		return s.joinStream(c)
	}
	run, err := s.ownRun(c)
	if err != nil {
		return err
	}
	cancelOnDrop, err := cancelOnDisconnect(c)
	if err != nil {
		return err
	}
	return s.answerValues(c, &run, cancelOnDrop)
}

// answerValues waits for the end of a run and answers with the state it left.
func (s *Server) answerValues(c echo.Context, run *store.Run, cancelOnDrop bool) error {
	c.Response().Header().Set("Location", runLocation(c, run)+"/join")
	ctx, stop := s.untilClosed(c.Request().Context())
	defer stop()
	k := &keepAlive{c: c, heartbeat: s.o.Heartbeat, last: time.Now()}
	ended, err := s.follow(ctx, followed{thread: run.ThreadID, run: run.ID}, k)
	var result any
	if err == nil {
		result, err = s.finalValues(ctx, run, &ended)
	}
	switch {
	case err == nil:
		return writeLate(c, result)
	case s.closed():
		return breakOff(c, &apiError{status: http.StatusServiceUnavailable, detail: "The server is shutting down; the run goes on", retry: 1})
	case c.Request().Context().Err() != nil || isGone(err):
		if cancelOnDrop {
			s.cancelAbandoned(c.Request().Context(), run.User, run.ThreadID, run.ID)
		}
		return nil
	}
	return breakOff(c, err)
}

// breakOff answers with an error, or drops the connection when the answer has
// begun.
func breakOff(c echo.Context, err error) error {
	if c.Response().Committed {
		abort()
	}
	return err
}

// writeLate writes the answer, after the newlines if there were some.
func writeLate(c echo.Context, result any) error {
	if !c.Response().Committed {
		return c.JSON(http.StatusOK, result)
	}
	return json.NewEncoder(c.Response()).Encode(result)
}

// finalValues are the values that a run left, with the questions it ended with;
// for a run that failed what the SDKs turn into an exception.
func (s *Server) finalValues(ctx context.Context, run *store.Run, ended *outcome) (any, error) {
	if ended.failed {
		return map[string]any{"__error__": errorData(ended.end.Error)}, nil
	}
	view, err := s.o.Store.View(ctx, run.ThreadID, store.ViewOptions{AtSeq: ended.seq})
	if err != nil {
		return nil, storeError(err, threadNotFound(run.ThreadID))
	}
	values, err := valuesOf(&view)
	if err != nil {
		return nil, err
	}
	if view.Checkpoint != nil && view.Checkpoint.Status == thread.StatusInterrupted && len(view.Checkpoint.Interrupts) > 0 {
		if values[interruptKey], err = json.Marshal(view.Checkpoint.Interrupts); err != nil {
			return nil, err
		}
	}
	return values, nil
}
