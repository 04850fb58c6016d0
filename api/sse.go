package api

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
)

// sseWriter writes frames as server-sent events. A client that does not take
// them in time is dropped; it can come back to where it was.
type sseWriter struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	heartbeat time.Duration
	timeout   time.Duration
	buf       bytes.Buffer
	pending   bool // written, but not flushed
	last      time.Time
}

// openSSE sends the headers of a stream.
func (s *Server) openSSE(c echo.Context) (*sseWriter, error) {
	h := c.Response().Header()
	h.Set("Content-Type", "text/event-stream")
	// no-transform: a proxy that compresses would hold everything back.
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w := &sseWriter{
		w: c.Response(), control: http.NewResponseController(c.Response()),
		heartbeat: s.o.Heartbeat, timeout: s.o.WriteTimeout, last: time.Now(),
	}
	w.extend()
	c.Response().WriteHeader(http.StatusOK)
	return w, w.flush()
}

// extend gives the client time for the next write. A server that knows no
// deadlines is fine.
func (w *sseWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }

func (w *sseWriter) frame(f frame) error {
	w.buf.Reset()
	w.buf.WriteString("event: ")
	w.buf.WriteString(f.event)
	w.buf.WriteString("\ndata: ")
	w.buf.Write(f.data)
	if f.id != (place{}) {
		w.buf.WriteString("\nid: ")
		w.buf.WriteString(f.id.String())
	}
	w.buf.WriteString("\n\n")
	return w.write(w.buf.Bytes())
}

// writePiece is what a client must at least take within the write timeout: a
// long frame over a slow line takes several of them.
const writePiece = 64 << 10

func (w *sseWriter) write(data []byte) error {
	w.pending = true
	for len(data) > 0 {
		n := min(len(data), writePiece)
		w.extend()
		if _, err := w.w.Write(data[:n]); err != nil {
			return fmt.Errorf("%w: %w", errClientGone, err)
		}
		data = data[n:]
	}
	return nil
}

// notice is a comment: programs skip it, people who look see it.
func (w *sseWriter) notice(text string) error { return w.write([]byte(": " + text + "\n\n")) }

func (w *sseWriter) settle() error {
	if !w.pending && time.Since(w.last) >= w.heartbeat {
		if err := w.write([]byte(": heartbeat\n\n")); err != nil {
			return err
		}
	}
	if !w.pending {
		return nil
	}
	return w.flush()
}

func (w *sseWriter) flush() error {
	w.extend()
	w.pending, w.last = false, time.Now()
	if err := w.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

func (w *sseWriter) due() time.Duration { return untilDue(w.last, w.heartbeat) }

// untilDue is how long until a sign of life is due, never quite nothing.
func untilDue(last time.Time, heartbeat time.Duration) time.Duration {
	return max(heartbeat-time.Since(last), time.Millisecond)
}

func (s *Server) createAndStream(c echo.Context) error {
	run, request, err := s.submit(c)
	if err != nil {
		return err
	}
	_, err = s.stream(c, &run, request.modes, request.cancelOnDrop)
	return err
}

func (s *Server) joinStream(c echo.Context) error {
	run, err := s.ownRun(c)
	if err != nil {
		return err
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

// cancelOnDisconnect reads the query by which a join asks that the run ends with
// it.
func cancelOnDisconnect(c echo.Context) (bool, error) {
	return queryFlag(c, "cancel_on_disconnect", false)
}

// stream answers with the event stream of a run, and reports whether the client
// got all of it.
func (s *Server) stream(c echo.Context, run *store.Run, modes modeSet, cancelOnDrop bool) (delivered bool, err error) {
	c.Response().Header().Set("Location", runLocation(c, run)+"/stream")
	w, err := s.openSSE(c)
	if err == nil {
		err = s.streamTo(c, run, modes, w)
	}
	if err == nil || s.closed() {
		return err == nil, nil
	}
	gone := c.Request().Context().Err() != nil || isGone(err)
	if !gone {
		// Nothing more can be said on this connection: it ends without an end
		// event, and the client comes back.
		s.o.Logger.Error("Stream a run", "request_id", requestID(c), "thread", run.ThreadID, "run", run.ID, "error", err)
	}
	if gone && cancelOnDrop {
		s.cancelAbandoned(c.Request().Context(), run.User, run.ThreadID, run.ID)
	}
	return false, nil
}

func (s *Server) streamTo(c echo.Context, run *store.Run, modes modeSet, w *sseWriter) error {
	ctx, stop := s.untilClosed(c.Request().Context())
	defer stop()
	_, err := s.follow(ctx, followed{
		thread: run.ThreadID, run: run.ID, dialect: dialectOf(c), modes: modes,
		lastEventID: c.Request().Header.Get("Last-Event-ID"),
	}, w)
	return err
}
