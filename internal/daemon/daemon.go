package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"deerflow/activities"
	"deerflow/api"
	"deerflow/config"
	"deerflow/internal/devserver"
	"deerflow/internal/sandbox"
	"deerflow/internal/store"
	"deerflow/internal/stream"
	"deerflow/internal/threadclient"
	"deerflow/worker"
)

// Times that bound a stop. Together they stay under ten seconds.
const (
	drainTime      = 2 * time.Second // for requests that are being answered
	workerStopTime = 3 * time.Second // for activities that are being done
)

// The dev process keeps few workflows in memory and waits shortly for those of
// a process before it.
const (
	cachedWorkflows = 200
	stickyTimeout   = 2 * time.Second
)

// Daemon is the product, running.
type Daemon struct {
	// URL, Temporal and TemporalUI are where its parts answer.
	URL        string
	Temporal   string
	TemporalUI string
	// Config and Warnings are what it was started with.
	Config   *config.Config
	Warnings []config.Warning
	// MovedAside is the file of another Temporal version that was put away; ""
	// for none.
	MovedAside string

	dataDir string
	log     *slog.Logger
	served  chan error
	stops   []func() // in the order in which they are called, last first
}

// Start brings everything up. It returns when GET /health says 200. A mistake of
// the user's is a [*UsageError].
func Start(ctx context.Context, o Options) (_ *Daemon, err error) {
	tuneMemory()
	d := &Daemon{log: o.Logger, served: make(chan error, 1)}
	defer func() {
		if err != nil {
			d.unwind()
		}
	}()
	if d.Config, d.Warnings, err = o.load(); err != nil {
		return nil, err
	}
	if d.log == nil {
		d.log = newLogger(d.Config.LogLevel)
	}
	if d.dataDir, err = o.makeDataDir(); err != nil {
		return nil, err
	}
	ln, err := o.listen(ctx)
	if err != nil {
		return nil, err
	}
	d.later(func() { _ = ln.Close() })
	progress := o.Progress
	if progress == nil {
		progress = func(string) {}
	}
	progress("starting Temporal")
	namespace, err := d.startTemporal(ctx, o)
	if err != nil {
		return nil, err
	}
	progress("opening the database")
	hub := stream.New()
	st, err := d.openStore(ctx, hub)
	if err != nil {
		return nil, err
	}
	progress("starting the worker")
	c, err := d.dial(ctx, namespace)
	if err != nil {
		return nil, err
	}
	threads := threadclient.New(threadclient.Options{Temporal: c, Settings: threadSettings(d.Config)})
	if err := d.startWorker(ctx, c, namespace, st, threads); err != nil {
		return nil, err
	}
	return d, d.serve(ctx, ln, o, st, hub, threads, c)
}

// Failed gives an error when the API has stopped answering by itself.
func (d *Daemon) Failed() <-chan error { return d.served }

// Stop ends everything in order, within ten seconds: no new requests, open
// streams end, activities are let go, then Temporal and the store.
func (d *Daemon) Stop() { d.unwind() }

func (d *Daemon) later(f func()) { d.stops = append(d.stops, f) }

func (d *Daemon) unwind() {
	for i := len(d.stops) - 1; i >= 0; i-- {
		d.stops[i]()
	}
	d.stops = nil
}

func (d *Daemon) startTemporal(ctx context.Context, o Options) (namespace string, err error) {
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: d.dataDir, Port: o.TemporalPort, UIPort: o.TemporalUIPort,
		SearchAttributes: searchAttributes(), Logger: d.log,
	})
	var port *devserver.PortError
	if errors.Is(err, devserver.ErrLocked) || errors.As(err, &port) {
		return "", &UsageError{Err: err}
	}
	if err != nil {
		return "", fmt.Errorf("start Temporal in %s: %w", d.dataDir, err)
	}
	d.later(server.Stop)
	d.Temporal, d.MovedAside = server.FrontendAddress(), server.MovedAside()
	if ui := server.UIAddress(); ui != "" {
		d.TemporalUI = "http://" + ui
	}
	return server.Namespace(), nil
}

func (d *Daemon) openStore(ctx context.Context, hub *stream.Hub) (*store.Store, error) {
	path := filepath.Join(d.dataDir, storeFile)
	st, err := store.Open(ctx, store.Options{Path: path, Logger: d.log, OnEvents: hub.Publish})
	if errors.Is(err, store.ErrNewer) {
		return nil, &UsageError{Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	d.later(func() {
		if err := st.Close(); err != nil {
			d.log.Warn("The database did not close in order", "path", path, "error", err)
		}
	})
	return st, nil
}

// identity is the same for every process that works in a data directory, so
// that a start finds what a dead one had begun.
func (d *Daemon) identity() string {
	sum := sha256.Sum256([]byte(d.dataDir))
	return "deerflow-dev-" + hex.EncodeToString(sum[:6])
}

func (d *Daemon) dial(ctx context.Context, namespace string) (client.Client, error) {
	c, err := client.DialContext(ctx, client.Options{
		HostPort: d.Temporal, Namespace: namespace, Identity: d.identity(),
		Logger: tlog.NewStructuredLogger(quiet(d.log)),
		// On loopback, compressing costs more than it saves.
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", d.Temporal, err)
	}
	d.later(c.Close)
	return c, nil
}

func (d *Daemon) startWorker(ctx context.Context, c client.Client, namespace string, st *store.Store, threads *threadclient.Client) error {
	cfg := d.Config
	boxes, err := sandbox.NewLocal(sandbox.LocalOptions{
		Root: filepath.Join(d.dataDir, usersDir), AllowHostBash: cfg.Sandbox.AllowHostBash,
		BashTimeout: cfg.Sandbox.BashCommandTimeout, Mounts: mounts(cfg), Logger: d.log,
	})
	if err != nil {
		return err
	}
	d.later(func() {
		if err := boxes.Close(); err != nil {
			d.log.Warn("The sandboxes did not close in order", "error", err)
		}
	})
	if n := boxes.EndStrays(); n > 0 {
		d.log.Info("Ended commands that a dead process had left", "commands", n)
	}
	acts, err := activities.New(activities.Options{
		Store: st, Config: func() *config.Config { return cfg }, Sandboxes: boxes, Logger: d.log,
	})
	if err != nil {
		return err
	}
	active, err := st.ActiveThreads(ctx)
	if err != nil {
		return fmt.Errorf("look for threads that were being worked on: %w", err)
	}
	lost, err := worker.FailLost(ctx, c, namespace, d.identity(), active, d.log)
	if err != nil {
		return err
	}
	w := worker.New(worker.Options{
		Temporal: c, Activities: acts, StopTimeout: workerStopTime,
		StickyTimeout: stickyTimeout, CachedWorkflows: cachedWorkflows,
	})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	d.later(w.Stop)
	if len(active) > 0 {
		d.log.Info("Going on with threads of the process before", "threads", len(active), "lost_activities", lost)
	}
	return d.reconcile(ctx, &worker.Reconciler{Store: st, Threads: threads, Logger: d.log}, active)
}

// reconcile submits what was never taken, now and from time to time.
func (d *Daemon) reconcile(ctx context.Context, r *worker.Reconciler, active []string) error {
	if err := r.Boot(ctx, active); err != nil {
		return fmt.Errorf("go on with the threads of the process before: %w", err)
	}
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.Run(looking)
	}()
	d.later(func() {
		stop()
		<-over
	})
	return nil
}

func (d *Daemon) serve(ctx context.Context, ln net.Listener, o Options, st *store.Store, hub *stream.Hub, threads *threadclient.Client, c client.Client) error {
	cfg := d.Config
	d.URL = "http://" + ln.Addr().String()
	s := api.New(api.Options{
		Store: st, Hub: hub, Threads: threads, Files: api.NewFiles(filepath.Join(d.dataDir, usersDir)),
		TemporalHealth: func(ctx context.Context) error {
			_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
		Models: modelNames(cfg), DefaultModel: cfg.Models[0].Name,
		Uploads:        api.UploadLimits{MaxFiles: cfg.Uploads.MaxFiles, MaxFileSize: cfg.Uploads.MaxFileSize, MaxTotalSize: cfg.Uploads.MaxTotalSize},
		AllowedOrigins: cfg.Server.AllowedOrigins, AllowedHosts: cfg.Server.AllowedHosts,
		Version: o.Version, TemporalUI: d.TemporalUI, Logger: d.log,
	})
	h := s.HTTPServer()
	go func() {
		if err := h.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.served <- fmt.Errorf("serve the API at %s: %w", d.URL, err)
		}
	}()
	d.later(func() {
		s.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			_ = h.Close()
		}
	})
	if err := d.healthy(ctx); err != nil {
		return err
	}
	return d.announce()
}
