package api

import (
	"errors"
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

const (
	callerKey = "deerflow.caller"
	// defaultUser owns everything while nobody has to prove who they are.
	defaultUser = "default"
	// nobody is the caller of a request that is nobody's. It is no valid user id,
	// so that nothing can ever be theirs.
	nobody = "?"
)

// caller is who a request comes from.
type caller struct {
	user  string
	admin bool
	byKey bool // proved by a key in a header, which no web page can make a browser send
}

func callerOf(c echo.Context) caller {
	who, ok := c.Get(callerKey).(caller)
	if !ok || who.user == "" {
		return caller{user: nobody}
	}
	return who
}

// ownerOf is the user on whose behalf a handler works. Every thread and file
// that it touches must be theirs; what belongs to others is answered like
// something that does not exist.
func ownerOf(c echo.Context) string { return callerOf(c).user }

// checkOwner refuses every route below a thread that is somebody else's, before
// a handler looks at it: the rule holds for routes that are yet to be written.
// A thread that does not exist passes, since some requests come before it does.
func (s *Server) checkOwner(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Param("thread")
		if !thread.ValidID(id) { // no thread in the path, or none that can exist
			return next(c)
		}
		if strings.HasSuffix(c.Path(), stopRoute) {
			return next(c) // a stop looks for itself, for it must not wait for the database
		}
		owner, err := s.o.Store.ThreadOwner(c.Request().Context(), id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return next(c)
		case err != nil:
			return storeError(fmt.Errorf("check whose thread it is: %w", err), threadNotFound(id))
		case owner != ownerOf(c):
			return threadNotFound(id)
		}
		return next(c)
	}
}
