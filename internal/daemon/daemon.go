package daemon

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/stream"
	"deerflow/internal/threadclient"
	"deerflow/worker"
)

// Times that bound a stop. Together they stay under ten seconds.
const (
	drainTime      = 2 * time.Second // for requests that are being answered
	workerStopTime = 3 * time.Second // for activities that are being done
)

// Daemon is the product, or a part of it, running.
type Daemon struct {
	// URL, Temporal and TemporalUI are where its parts answer; empty for a part
	// that this process does not have.
	URL        string
	Temporal   string
	TemporalUI string
	// Identity is how Temporal shows the worker in this process; "" for none.
	Identity string
	// Config and Warnings are what it was started with.
	Config   *config.Config
	Warnings []config.Warning
	// MovedAside is the file of another Temporal version that was put away; ""
	// for none.
	MovedAside string
	// CommandsOff says why agents cannot run commands although the configuration
	// does not ask for that; "" when they can, or should not.
	CommandsOff string

	boxes   sandbox.Provider // nil without a worker in this process
	source  *config.Source   // gives the configuration while it is edited
	dataDir string
	log     *slog.Logger
	say     func(string)
	served  chan error
	stops   []func() // in the order in which they are called, last first
}

// Start brings everything up in this process. It returns when GET /health says
// 200. A mistake of the user's is a [*UsageError].
func Start(ctx context.Context, o Options) (_ *Daemon, err error) {
	tuneMemory()
	d, err := begin(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.unwind()
		}
	}()
	ln, err := o.listen(ctx)
	if err != nil {
		return nil, err
	}
	d.later(func() { _ = ln.Close() })
	if err := d.checkDatabase(ctx); err != nil {
		return nil, err
	}
	if err := d.checkSandbox(ctx); err != nil {
		return nil, err
	}
	worker.KeepInMemory(d.Config.Worker.StickyCache)
	d.say("starting Temporal")
	namespace, err := d.startTemporal(ctx, o)
	if err != nil {
		return nil, err
	}
	d.say("opening the database")
	hub := stream.New()
	st, err := d.openStore(ctx, hub)
	if err != nil {
		return nil, err
	}
	d.hear(ctx, st, hub)
	d.say("starting the worker")
	c, err := d.dial(ctx, namespace)
	if err != nil {
		return nil, err
	}
	threads := threadclient.New(threadclient.Options{Temporal: c, Settings: d.threadSettings(true)})
	d.Identity = d.identity()
	if err := d.work(ctx, duty{temporal: c, namespace: namespace, store: st, threads: threads, identity: d.Identity, sole: true}); err != nil {
		return nil, err
	}
	err = d.serve(ctx, ln, o, front{
		store: st, hub: hub, threads: threads,
		temporalHealth: func(ctx context.Context) error {
			_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if err := d.answers(ctx, "/health"); err != nil {
		return nil, err
	}
	return d, d.announce()
}

// begin reads the configuration and makes the data directory: what every shape
// of the product starts with.
func begin(o Options) (*Daemon, error) {
	d := &Daemon{log: o.Logger, say: o.Progress, served: make(chan error, 1)}
	if d.say == nil {
		d.say = func(string) {}
	}
	var err error
	if d.source, d.Warnings, err = o.load(); err != nil {
		return nil, err
	}
	d.Config = d.source.Current()
	if d.log == nil {
		d.log = newLogger(d.Config.LogLevel)
	}
	d.source.LogTo(d.log)
	d.dataDir, err = o.makeDataDir()
	return d, err
}

// Failed gives an error when a part has stopped by itself.
func (d *Daemon) Failed() <-chan error { return d.served }

// fail reports that a part has stopped by itself; the first one counts.
func (d *Daemon) fail(err error) {
	select {
	case d.served <- err:
	default:
	}
}

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
