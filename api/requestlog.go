package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const (
	requestIDKey    = "deerflow.request"
	requestIDHeader = "X-Request-Id"
	maxRequestID    = 64
)

// requestID names a request in the log and in answers that say "internal
// error".
func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// logRequests gives every request an id and logs how it ended: server faults as
// errors, everything else for debugging.
func (s *Server) logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		id := c.Request().Header.Get(requestIDHeader)
		if !plainID(id) {
			id = uuid.NewString()
		}
		c.Set(requestIDKey, id)
		c.Response().Header().Set(requestIDHeader, id)
		c.Response().Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
		err := next(c)
		if err != nil {
			s.writeError(err, c)
		}
		level := slog.LevelDebug
		if c.Response().Status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		if s.o.Logger.Enabled(c.Request().Context(), level) {
			s.o.Logger.LogAttrs(c.Request().Context(), level, "HTTP request",
				slog.String("request_id", id), slog.String("method", c.Request().Method),
				slog.String("route", c.Path()), slog.String("uri", c.Request().URL.Path),
				slog.Int("status", c.Response().Status), slog.Duration("took", time.Since(start)),
				slog.Any("error", err))
		}
		return nil
	}
}

// plainID reports whether a client's request id may stand in a log.
func plainID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, r := range id {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}

// catchPanics turns a panic into a 500. One that aborts the connection on
// purpose goes on to the server.
func (s *Server) catchPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				s.o.Logger.Error("Panic in a handler", "request_id", requestID(c), "route", c.Path(),
					"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", v)
				if c.Response().Committed {
					panic(http.ErrAbortHandler) // half an answer must not look whole
				}
			}
		}()
		return next(c)
	}
}

// abort breaks the connection off: the client must not take what it has for the
// whole answer.
func abort() { panic(http.ErrAbortHandler) }

var (
	errClientGone = errors.New("the client has gone")
	errLoadFailed = errors.New("a value could not be made")
)
