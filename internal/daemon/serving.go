package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"deerflow/api"
	"deerflow/internal/store"
	"deerflow/internal/stream"
)

// front is what the API works with.
type front struct {
	store          *store.Store
	hub            *stream.Hub
	threads        threads
	temporalHealth func(context.Context) error
	workerHealth   func(context.Context) error // nil when the worker is in this process
}

// threads is what reaches the workflows, of threads and of conversions.
type threads interface {
	api.Threads
	api.Documents
}

// serve starts the API on a listener.
func (d *Daemon) serve(ctx context.Context, ln net.Listener, o Options, f front) error {
	cfg := d.Config
	d.URL = "http://" + reachable(ln.Addr())
	keys, err := d.asksForKeys(ctx, o, f.store)
	if err != nil {
		return err
	}
	s := api.New(api.Options{
		Store: f.store, Hub: f.hub, Threads: f.threads, Documents: f.threads, Files: d.files(),
		TemporalHealth: f.temporalHealth, WorkerHealth: f.workerHealth,
		Settings:       d.apiSettings,
		RequireKeys:    keys,
		AllowedOrigins: cfg.Server.AllowedOrigins, AllowedHosts: ownHosts(cfg.Server.AllowedHosts, o.Listen),
		Version: o.Version, TemporalUI: d.TemporalUI, Logger: d.log,
	})
	h := s.HTTPServer()
	go func() {
		if err := h.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.fail(fmt.Errorf("serve the API at %s: %w", d.URL, err))
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
	return nil
}

// reachable is an address at which this process reaches its own listener.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
}
