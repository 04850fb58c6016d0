package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// Server answers the HTTP API.
type Server struct {
	o    Options
	echo *echo.Echo

	keys     *keyRing
	failures *failures
	values   *memo[valuesKey, []byte]
	messages *memo[messageKey, wireRow]

	exports chan struct{} // one for each document that is being made

	started time.Time

	// life ends when the server is closed, and with it every open stream.
	life  context.Context
	close context.CancelFunc
	// tasks are what goes on behind the requests.
	tasks     sync.WaitGroup
	closing   sync.Mutex // no task begins once the server is being closed
	sweepOnce sync.Once
}

// background does work that no request waits for. It ends with the server.
func (s *Server) background(work func(context.Context)) {
	s.closing.Lock()
	defer s.closing.Unlock()
	if !s.closed() {
		s.tasks.Go(func() { work(s.life) })
	}
}

const (
	valuesCacheBytes   = 48 << 20
	messagesCacheBytes = 16 << 20
)

// New makes a server; Close it to end its streams.
func New(o Options) *Server {
	s := &Server{
		o:        o.withDefaults(),
		echo:     echo.New(),
		values:   newMemo[valuesKey, []byte](valuesCacheBytes),
		messages: newMemo[messageKey, wireRow](messagesCacheBytes),
		exports:  make(chan struct{}, maxExports),
	}
	s.started = s.o.Now()
	s.life, s.close = context.WithCancel(context.Background())
	s.keys, s.failures = newKeyRing(&s.o), newFailures(s.o.Now)
	s.echo.HTTPErrorHandler = s.writeError
	s.echo.IPExtractor = echo.ExtractIPDirect() // headers about it are anybody's to write
	s.echo.Use(s.logRequests, s.catchPanics, s.checkHost, s.allowOrigins, s.authenticate, s.checkOrigin, s.checkOwner)
	s.routes()
	s.authRoutes()
	return s
}

// Handler is the whole API.
func (s *Server) Handler() http.Handler { return s.echo }

// HTTPServer is a server for the handler with time limits that fit it: headers
// must come soon, while a stream may be written for hours.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// Close ends the open streams and the requests that wait for a run, so that the
// HTTP server around the handler can drain. Streams end without an end event:
// their clients come back to whoever serves next. Runs go on.
func (s *Server) Close() {
	s.closing.Lock()
	s.close()
	s.closing.Unlock()
	s.tasks.Wait()
}

// untilClosed is a context that ends with the request or with the server.
func (s *Server) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// closed reports whether the server was closed.
func (s *Server) closed() bool { return s.life.Err() != nil }
