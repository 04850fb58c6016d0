package daemon

import (
	"context"
	"fmt"
	"os"

	"go.temporal.io/sdk/client"

	"deerflow/internal/stream"
	"deerflow/internal/threadclient"
	"deerflow/worker"
)

// StartWorker runs a worker alone, against a Temporal server and a Postgres
// database that run elsewhere; it waits for both, for as long as ctx lives, which
// bounds only the start. Of the options it uses no address. A mistake of the user's is a [*UsageError].
func StartWorker(ctx context.Context, o Options) (_ *Daemon, err error) {
	d, outside, err := beginSplit(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.unwind()
		}
	}()
	if err := d.checkSandbox(ctx); err != nil {
		return nil, err
	}
	st, err := d.awaitStore(ctx, nil)
	if err != nil {
		return nil, err
	}
	id, err := d.claimIdentity()
	if err != nil {
		return nil, err
	}
	outside.Identity, d.Identity = id.name, id.name
	c, err := d.awaitTemporal(ctx, outside)
	if err != nil {
		return nil, err
	}
	attributes := d.addAttributes(ctx, c, outside.Namespace)
	worker.KeepInMemory(d.Config.Worker.StickyCache)
	d.say("starting the worker " + id.name)
	threads := threadclient.New(threadclient.Options{Temporal: c, Settings: d.threadSettings(attributes)})
	return d, d.work(ctx, duty{
		temporal: c, namespace: outside.Namespace, store: st, threads: threads, identity: id.name, sole: id.sole, shared: true,
	})
}

// StartAPI serves the API alone, against a Temporal server and a Postgres
// database that run elsewhere. It waits for the database; without Temporal or a
// worker it starts all the same, and GET /health names what is away. ctx bounds
// only the start. A mistake of the user's is a [*UsageError].
func StartAPI(ctx context.Context, o Options) (_ *Daemon, err error) {
	d, outside, err := beginSplit(o)
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
	hub := stream.New()
	st, err := d.awaitStore(ctx, hub)
	if err != nil {
		return nil, err
	}
	d.hear(ctx, st, hub)
	outside.Identity = fmt.Sprintf("deerflow-api-%s-%d", hostName(), os.Getpid())
	c, err := client.NewLazyClient(outside)
	if err != nil {
		return nil, usage("connect to Temporal at %s: %w", d.Temporal, err)
	}
	d.later(c.Close)
	frontend := &frontend{temporal: c, namespace: outside.Namespace}
	workers := &crewWatch{temporal: c}
	threads := &remoteThreads{
		temporal: c, config: d.source.Current, workers: workers, attributes: &attributeWatch{temporal: c, namespace: outside.Namespace},
	}
	err = d.serve(ctx, ln, o, front{
		store: st, hub: hub, threads: threads, temporalHealth: frontend.health, workerHealth: workers.health,
	})
	if err != nil {
		return nil, err
	}
	return d, d.answers(ctx, "/ok")
}

// beginSplit reads what a part alone needs to know of the others.
func beginSplit(o Options) (*Daemon, client.Options, error) {
	d, err := begin(o)
	if err != nil {
		return nil, client.Options{}, err
	}
	if d.databaseURL() == "" {
		return nil, client.Options{}, usage("%s is not set: api and worker share a Postgres database, such as postgres://user:password@host:5432/deerflow; 'deerflow dev' needs none", databaseVariable)
	}
	outside, err := d.outsideTemporal()
	return d, outside, err
}
