package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/threadclient"
)

// stopRoute is the path of a stop, below the prefix of a dialect.
const stopRoute = "/threads/:thread/runs/:run/cancel"

// storePatience is how long a stop waits for the database before it goes to the
// thread without having seen its rows.
const storePatience = time.Second

// errStoreSlow: the database did not answer in time.
var errStoreSlow = errors.New("the database does not answer")

// runToStop reads the thread and the run of a stop; an [errStoreSlow] when the
// database takes its time.
func (s *Server) runToStop(c echo.Context) (store.Thread, store.Run, error) {
	asked := c.Request().Context()
	ctx, cancel := context.WithTimeout(asked, storePatience)
	defer cancel()
	id, err := threadParam(c)
	if err != nil {
		return store.Thread{}, store.Run{}, err
	}
	t, err := s.threadOf(ctx, ownerOf(c), id)
	var run store.Run
	if err == nil {
		run, err = s.run(ctx, t.ID, c.Param("run"))
	}
	if err != nil && ctx.Err() != nil && asked.Err() == nil {
		err = errStoreSlow
	}
	return t, run, err
}

// stopUnseen hands a stop to the thread while the database does not answer: what
// a person stops must stop. The thread itself looks whose it is.
func (s *Server) stopUnseen(c echo.Context, request cancelRequest) error {
	ctx := c.Request().Context()
	id, err := threadParam(c)
	if err != nil {
		return err
	}
	run := store.Run{ThreadID: id, ID: c.Param("run")}
	_, err = s.o.Threads.Cancel(ctx, ownerOf(c), id, uuid.NewString(), step.CancelRun{RunID: run.ID, Action: request.action, User: ownerOf(c)})
	if err != nil && !errors.Is(err, threadclient.ErrNoWorker) {
		// Whatever the thread says, only the rows tell what a caller may know of it.
		return &apiError{
			status: http.StatusServiceUnavailable, detail: "The database does not answer: try again",
			retry: 1, cause: err,
		}
	}
	if !request.wait {
		return c.NoContent(http.StatusAccepted)
	}
	if err := s.awaitEnd(ctx, &run); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
