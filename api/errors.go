package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/threadclient"
)

// apiError is an answer that is no success: {"detail": ...} with further keys.
type apiError struct {
	status int
	detail any // a sentence, or a list of fieldError
	more   map[string]any
	retry  int // seconds for Retry-After; 0 for none
	cause  error
}

func (e *apiError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%v: %v", e.detail, e.cause)
	}
	return fmt.Sprint(e.detail)
}

func (e *apiError) Unwrap() error { return e.cause }

// fail makes an error with a status and one sentence.
func fail(status int, format string, args ...any) *apiError {
	return &apiError{status: status, detail: fmt.Sprintf(format, args...)}
}

func threadNotFound(id string) *apiError {
	return fail(http.StatusNotFound, "Thread %s not found", id)
}

func runNotFound(id string) *apiError {
	return fail(http.StatusNotFound, "Run %s not found", id)
}

// unavailable is the answer while Temporal is away. Clients may repeat.
func unavailable(cause error) *apiError {
	return &apiError{
		status: http.StatusServiceUnavailable,
		detail: "Temporal is not available: nothing was changed, try again",
		retry:  1, cause: cause,
	}
}

// databaseAway is the answer while the database is away. Clients may repeat.
func databaseAway(cause error) *apiError {
	return &apiError{
		status: http.StatusServiceUnavailable,
		detail: "The database is not available: nothing is lost, try again",
		retry:  1, cause: cause,
	}
}

// crowded is the answer of a thread that cannot take more at the moment.
func crowded(no *threadclient.RefusedError) *apiError {
	return &apiError{status: http.StatusTooManyRequests, detail: no.Reason, retry: 1, cause: no}
}

// temporalError is an error of a request to a thread, with its answer when
// Temporal is away.
func temporalError(err error) error {
	if errors.Is(err, threadclient.ErrUnavailable) {
		return unavailable(err)
	}
	return err
}

// fieldError is one line of a 422: where, what is wrong, and a word for
// programs.
type fieldError struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// invalidField is a 422 about one field.
func invalidField(kind, msg string, loc ...any) *apiError {
	return &apiError{status: http.StatusUnprocessableEntity, detail: []fieldError{{Loc: loc, Msg: msg, Type: kind}}}
}

// storeError turns an error of the store into an answer; missing says what it
// is when nothing was found.
func storeError(err error, missing *apiError) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return missing
	case errors.Is(err, store.ErrClosed):
		return &apiError{status: http.StatusServiceUnavailable, detail: "The server is shutting down", retry: 1, cause: err}
	case errors.Is(err, store.ErrInvalid):
		return &apiError{status: http.StatusUnprocessableEntity, detail: err.Error(), cause: err}
	}
	return err
}

// refusal is the thread's own refusal in err, or nil.
func refusal(err error) *threadclient.RefusedError {
	var refused *threadclient.RefusedError
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}

// writeError is the last place where an error becomes an answer. What is no
// apiError is a fault of ours: the client gets an id, the log gets the rest.
func (s *Server) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	body, status := map[string]any{}, http.StatusInternalServerError
	var known *apiError
	var routed *echo.HTTPError
	if errors.Is(err, store.ErrUnavailable) && !errors.As(err, &known) {
		err = databaseAway(err)
	}
	switch {
	case errors.As(err, &known):
		status = known.status
		body["detail"] = known.detail
		for key, value := range known.more {
			body[key] = value
		}
		if known.retry > 0 {
			c.Response().Header().Set("Retry-After", strconv.Itoa(known.retry))
		}
	case errors.As(err, &routed):
		status = routed.Code
		body["detail"] = http.StatusText(routed.Code)
	default:
		body["detail"] = "Internal error: the server's log has more under this request id"
	}
	if status >= http.StatusInternalServerError {
		body["request_id"] = requestID(c)
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(status)
	} else {
		err = c.JSON(status, body)
	}
	if err != nil {
		s.o.Logger.Debug("Write an error answer", "request_id", requestID(c), "error", err)
	}
}
