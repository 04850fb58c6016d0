package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	tlog "go.temporal.io/sdk/log"

	"deerflow/config"
	"deerflow/internal/store"
	"deerflow/internal/stream"
)

// Times of the wait for a part that is not there yet.
const (
	waitPause    = time.Second      // between attempts
	waitTemporal = 5 * time.Second  // for one attempt to connect to Temporal
	waitStore    = 30 * time.Second // for one to open the database, which may have to be migrated
	waitSay      = 30 * time.Second // between two messages that say the same
)

// temporalEnvironment gives the TEMPORAL_ variables of the process, and of the
// .env file beside the configuration.
type temporalEnvironment struct{ lookup config.Lookup }

func (e temporalEnvironment) Environ() []string { return os.Environ() }

func (e temporalEnvironment) LookupEnv(name string) (string, bool) { return e.lookup(name) }

// outsideTemporal reads where Temporal is and how to identify there, as every
// Temporal client reads it: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
// TEMPORAL_API_KEY, TEMPORAL_TLS and so on, or a profile of Temporal's own
// configuration file.
func (d *Daemon) outsideTemporal() (client.Options, error) {
	o, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: temporalEnvironment{d.Config.Getenv}})
	if err != nil {
		return o, usage("the TEMPORAL_ variables: %w", err)
	}
	if o.HostPort == "" {
		o.HostPort = client.DefaultHostPort
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	o.Logger = tlog.NewStructuredLogger(quiet(d.log))
	d.Temporal = o.HostPort
	return o, nil
}

// awaitTemporal connects to Temporal, however long it takes to come (M14).
func (d *Daemon) awaitTemporal(ctx context.Context, o client.Options) (client.Client, error) {
	var c client.Client
	err := d.await(ctx, "Temporal at "+o.HostPort, waitTemporal, func(ctx context.Context) (err error) {
		if c, err = client.DialContext(ctx, o); err != nil {
			return err
		}
		if err = namespaceExists(ctx, c, o.Namespace); err != nil {
			c.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.later(c.Close)
	return c, nil
}

// namespaceExists is an error only when Temporal says that it does not, or says
// nothing: not everybody who may use a namespace may look at it.
func namespaceExists(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var (
		missing *serviceerror.NamespaceNotFound
		gone    *serviceerror.NotFound
		denied  *serviceerror.PermissionDenied
	)
	switch {
	case errors.As(err, &missing), errors.As(err, &gone):
		return fmt.Errorf("there is no namespace %q: create it, or name another one in TEMPORAL_NAMESPACE", namespace)
	case errors.As(err, &denied):
		return nil
	}
	return err
}

// awaitStore opens the database, however long it takes to come.
func (d *Daemon) awaitStore(ctx context.Context, hub *stream.Hub) (*store.Store, error) {
	var st *store.Store
	err := d.await(ctx, "the database of "+databaseVariable, waitStore, func(ctx context.Context) (err error) {
		st, err = d.openStore(ctx, hub)
		return err
	})
	return st, err
}

// await tries until it succeeds, and says what it waits for. A mistake of the
// user's ends it.
func (d *Daemon) await(ctx context.Context, what string, bound time.Duration, try func(ctx context.Context) error) error {
	d.say("connecting to " + what)
	var (
		said  string
		until time.Time
	)
	for {
		attempt, cancel := context.WithTimeout(ctx, bound)
		err := try(attempt)
		cancel()
		var mistake *UsageError
		if err == nil || errors.As(err, &mistake) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
		if text := strings.Join(strings.Fields(err.Error()), " "); text != said || time.Now().After(until) {
			d.say("waiting for " + what + ": " + text)
			said, until = text, time.Now().Add(waitSay)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(waitPause):
		}
	}
}
