package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"deerflow/config"
	"deerflow/internal/cli"
	"deerflow/internal/store"
)

// openKeys opens the database with the keys. Without create, a database that is
// not there is an fs.ErrNotExist.
func openKeys(ctx context.Context, app App, g *globals, create bool) (*store.Store, error) {
	o := store.Options{Logger: slog.New(slog.DiscardHandler)}
	var err error
	if o.URL, err = databaseURL(app, g); err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if o.URL == "" {
		o.Path = filepath.Join(g.dataDir, "deerflow.db")
		if create {
			err = os.MkdirAll(g.dataDir, 0o700)
		} else {
			_, err = os.Stat(o.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("open the data directory: %w", err)
		}
	}
	db, err := store.Open(ctx, o)
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrInvalid) {
		err = &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return db, err
}

func closeKeys(db *store.Store) { _ = db.Close() } // what was written is committed

// databaseURL is the address of a Postgres, from the environment or from the
// .env file beside the config; "" when the data directory has the database.
func databaseURL(app App, g *globals) (string, error) {
	const name = "DEERFLOW_DATABASE_URL"
	if url := strings.TrimSpace(app.Env(name)); url != "" {
		return url, nil
	}
	cfg, _, err := config.Load(config.Options{Path: g.config, Getenv: func(name string) (string, bool) {
		value := app.Env(name)
		return value, value != ""
	}})
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", name, err)
	}
	url, _ := cfg.Getenv(name)
	return strings.TrimSpace(url), nil
}
