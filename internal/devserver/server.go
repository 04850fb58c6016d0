package devserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"
)

const (
	// readyTimeout bounds the wait for a server that has started to answer; it takes milliseconds.
	readyTimeout = 15 * time.Second
	// uiStopTimeout is what open requests to the UI get; its long polls would wait for a minute.
	uiStopTimeout = 200 * time.Millisecond
	// stopTimeout bounds Stop as a whole.
	stopTimeout = 4 * time.Second
	// launchAttempts is how often free ports are chosen anew when somebody else was faster.
	launchAttempts = 5
)

// Server is a running embedded server. Its methods may be called from several goroutines.
type Server struct {
	options  Options
	lock     *dirLock
	db       *database
	log      *serverLog
	temporal temporal.Server
	frontend string
	// uiListener is nil without a UI, and belongs to ui once that is there.
	uiListener net.Listener
	ui         *webUI
	stopOnce   sync.Once
	// stopped is closed when all is down, which may be after Stop has returned.
	stopped chan struct{}
}

// Start runs a server on the data directory of o and returns when it takes calls: the namespace exists with its
// retention and search attributes, and the Web UI answers. ctx bounds only the start.
//
// The error is a [*LockedError] if the directory is in use, and a [*PortError] if a requested port is; in both cases
// no data has been touched. A database of another server version is moved aside, see [Server.MovedAside].
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, freePorts)
}

// portFinder returns n different ports that are likely to be free.
type portFinder func(ctx context.Context, n int) ([]int, error)

func start(ctx context.Context, o Options, find portFinder) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory of the embedded Temporal server: %w", err)
	}
	lock, err := lockDir(o.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, lock: lock, log: newServerLog(o.Logger), stopped: make(chan struct{})}
	if err := s.bringUp(ctx, find); err != nil {
		s.Stop() //nolint:contextcheck // a start that was given up is cleaned up all the same
		return nil, err
	}
	return s, nil
}

// bringUp goes from the lock to a server that takes calls. What it has put up when it fails is for Stop to take down.
func (s *Server) bringUp(ctx context.Context, find portFinder) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("starting the embedded Temporal server: %w", err)
	}
	// Requested ports first: if one is taken, nothing has happened yet.
	if err := s.claimPorts(ctx); err != nil {
		return err
	}
	if s.db, err = openDatabase(s.options); err != nil {
		return err
	}
	if s.db.movedAside != "" {
		s.options.Logger.Warn("The Temporal database is of another server version or unfinished; it was moved aside and a new one made",
			"movedTo", s.db.movedAside)
	}
	if err := s.launch(ctx, find); err != nil {
		return err
	}
	if s.uiListener != nil {
		if s.ui, err = startUI(s.uiListener, s.frontend, s.options); err != nil {
			return err
		}
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := setUpNamespace(ready, s.frontend, s.options); err != nil {
		return fmt.Errorf("starting the embedded Temporal server: %w", err)
	}
	s.log.state.phase.Store(running)
	return nil
}

// claimPorts checks the frontend's port, which the server will open itself, and opens that of the UI for good.
func (s *Server) claimPorts(ctx context.Context) (err error) {
	if s.options.Port != 0 {
		if err := checkPort(ctx, s.options.Port, frontendName); err != nil {
			return err
		}
	}
	if s.options.UIPort != NoUI {
		s.uiListener, err = listenLoopback(ctx, s.options.UIPort, webUIName)
	}
	return err
}

// FrontendAddress is the host:port that SDK clients dial.
func (s *Server) FrontendAddress() string { return s.frontend }

// UIAddress is the host:port of the Web UI, empty if there is none.
func (s *Server) UIAddress() string {
	if s.uiListener == nil {
		return ""
	}
	return s.uiListener.Addr().String()
}

// Namespace is the name of the namespace that Start made or found.
func (s *Server) Namespace() string { return s.options.Namespace }

// MovedAside is the path that a database was moved to because this server cannot use it, empty if that did not happen.
// Its -wal and -shm are beside it, and its meta is there under temporal.json with the same ending. Workflows
// that ran in it are not in the new database. The move is logged as well, as a start that fails later cannot be asked.
func (s *Server) MovedAside() string { return s.db.movedAside }

// Stop ends the Web UI and then the server, and gives the data directory back. It returns within five seconds; a server
// that needs longer is left to the end of the process, and keeps the directory until then. Workers and clients should
// be closed before, since the server waits for their open polls. Calls after the first wait for it and do nothing.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.log.state.phase.Store(stopping)
		go func() {
			defer close(s.stopped)
			s.shutdown()
		}()
		select {
		case <-s.stopped:
		case <-time.After(stopTimeout):
			s.options.Logger.Warn("The embedded Temporal server is still stopping; going on without waiting for it",
				"waited", stopTimeout, "dataDir", s.options.DataDir)
		}
	})
}

// shutdown takes down whatever bringUp has put up.
func (s *Server) shutdown() {
	var errs []error
	switch {
	case s.ui != nil:
		ctx, cancel := context.WithTimeout(context.Background(), uiStopTimeout)
		defer cancel()
		errs = append(errs, s.ui.stop(ctx))
	case s.uiListener != nil:
		errs = append(errs, closeListener(s.uiListener))
	}
	if s.temporal != nil {
		if err := s.temporal.Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stopping the embedded Temporal server: %w", err))
		}
		errs = append(errs, s.db.checkpoint())
	}
	errs = append(errs, s.lock.release())
	if err := errors.Join(errs...); err != nil {
		s.options.Logger.Error("Stopping the embedded Temporal server left something behind", "error", err)
	}
}

// launch starts the server on ports that were free a moment ago, and on others if they no longer are.
func (s *Server) launch(ctx context.Context, find portFinder) error {
	for attempt := 1; ; attempt++ {
		ports, err := s.choosePorts(ctx, find)
		if err != nil {
			return err
		}
		server, err := run(serverConfig(s.db, ports), s.options.Settings, ports, s.log)
		if err == nil {
			s.temporal, s.frontend = server, hostPort(ports.frontend)
			return nil
		}
		port := takenPort(err)
		if port == 0 || attempt == launchAttempts {
			return fmt.Errorf("starting the embedded Temporal server on %s: %w", s.options.DataDir, err)
		}
		// Later it may be held by what is left of the attempt before, until that is collected.
		if port == s.options.Port && attempt == 1 {
			return &PortError{Port: port, What: frontendName, Err: err}
		}
		s.options.Logger.Debug("A port of the embedded Temporal server was taken; trying others", "error", err)
		s.log = newServerLog(s.options.Logger)
	}
}

// takenPort is the port that was in use, according to err, or 0.
func takenPort(err error) int {
	var op *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &op) {
		return 0
	}
	if addr, ok := op.Addr.(*net.TCPAddr); ok {
		return addr.Port
	}
	return 0
}

func (s *Server) choosePorts(ctx context.Context, find portFinder) (servicePorts, error) {
	const services = 4
	p, err := find(ctx, services)
	if err != nil {
		return servicePorts{}, err
	}
	ports := servicePorts{frontend: p[0], history: p[1], matching: p[2], worker: p[3]}
	if s.options.Port != 0 {
		ports.frontend = s.options.Port
	}
	return ports, nil
}

// run builds and starts a server.
func run(c *config.Config, settings map[string]any, ports servicePorts, logger *serverLog) (temporal.Server, error) {
	server, err := build(c, settings, ports, logger)
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return nil, logger.state.causeOf(err)
	}
	return server, nil
}

// build turns what the server would end the process for, such as a port that is taken, into an error.
func build(c *config.Config, settings map[string]any, ports servicePorts, logger *serverLog) (_ temporal.Server, err error) {
	defer logger.state.phase.Store(starting)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("building the server: %v", r)
		}
	}()
	return temporal.NewServer(
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(ports.staticHosts()),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(dynamicConfig(settings)),
	)
}
