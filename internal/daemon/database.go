package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"deerflow/internal/store"
	"deerflow/internal/stream"
)

// databaseVariable has the address of a Postgres database, postgres://...
const databaseVariable = "DEERFLOW_DATABASE_URL"

// databaseURL is the address of the database; "" for the SQLite file in the
// data directory.
func (d *Daemon) databaseURL() string {
	url, _ := d.Config.Getenv(databaseVariable)
	return strings.TrimSpace(url)
}

// openStore opens the product's database. With a hub, that learns of what is
// written through it.
func (d *Daemon) openStore(ctx context.Context, hub *stream.Hub) (*store.Store, error) {
	o := store.Options{URL: d.databaseURL(), Logger: d.log}
	name := "of " + databaseVariable // the address has a password in it
	if o.URL == "" {
		o.Path = filepath.Join(d.dataDir, storeFile)
		name = o.Path
	} else if !strings.HasPrefix(o.URL, "postgres://") && !strings.HasPrefix(o.URL, "postgresql://") {
		return nil, usage("%s: want a Postgres address such as postgres://user:password@host:5432/deerflow", databaseVariable)
	}
	if hub != nil {
		o.OnEvents = hub.Publish
	}
	st, err := store.Open(ctx, o)
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrInvalid) {
		return nil, &UsageError{Err: err}
	}
	if err != nil && o.URL != "" {
		return nil, err // it names the database, without the password
	}
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", name, err)
	}
	d.later(func() {
		if err := st.Close(); err != nil {
			d.log.Warn("The database did not close in order", "database", name, "error", err)
		}
	})
	return st, nil
}

// hear wakes the readers in this process when another one has written to their
// thread.
func (d *Daemon) hear(ctx context.Context, st *store.Store, hub *stream.Hub) {
	if d.databaseURL() == "" {
		return // one process alone writes to a SQLite file
	}
	d.inBackground(ctx, func(ctx context.Context) {
		err := st.Listen(ctx, func(threadID string) { hub.Publish(threadID, nil) })
		if err != nil && ctx.Err() == nil {
			d.log.Warn("Not told of new events by other processes; they are looked for every second", "error", err)
		}
	})
}

// inBackground calls f beside everything else; its context ends with a stop,
// which waits for it.
func (d *Daemon) inBackground(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		f(ctx)
	}()
	d.later(func() {
		cancel()
		<-over
	})
}
