package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"deerflow/internal/thread"
)

// getStateAt answers with the state as of the checkpoint in the path.
func (s *Server) getStateAt(c echo.Context) error {
	return s.answerStateAt(c, c.Param("checkpoint"), selection(c))
}

// getStateAtCheckpoint answers with the state as of the checkpoint that the body
// names, the newest when it names none.
func (s *Server) getStateAtCheckpoint(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	named := body.child("checkpoint")
	other, id := named.text("thread_id"), named.text("checkpoint_id")
	if other != "" && other != c.Param("thread") {
		named.fault("thread_id", "value_error", "The checkpoint is one of thread %q", thread.Prefix(other, 80))
	}
	named.unsupported("checkpoint_ns")
	body.flag("subgraphs") // there are none
	fields := body.texts("select")
	if err := body.err(); err != nil {
		return err
	}
	return s.answerStateAt(c, id, fields)
}

func (s *Server) answerStateAt(c echo.Context, id string, fields []string) error {
	view, err := s.ownView(c)
	if err != nil {
		return err
	}
	shape, err := headState(&view)
	if id != "" && (view.Checkpoint == nil || view.Checkpoint.ID != id) {
		cp, found := s.o.Store.GetCheckpoint(c.Request().Context(), view.Thread.ID, id)
		if found != nil {
			return storeError(found, checkpointNotFound(id))
		}
		shape, err = s.checkpointState(c.Request().Context(), &view, &cp, platform)
	}
	if err != nil {
		return err
	}
	shown, err := selectKeys(shape, fields)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, shown)
}

func checkpointNotFound(id string) *apiError {
	return fail(http.StatusNotFound, "Checkpoint %s not found", thread.Prefix(id, 80))
}
