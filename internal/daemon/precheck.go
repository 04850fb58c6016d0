package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/docker"
	"deerflow/internal/store"
)

// sqliteMagic is what every SQLite file begins with.
const sqliteMagic = "SQLite format 3\x00"

// checkDatabase refuses a database file that cannot be opened anyway, before
// anything is changed in the data directory. What else may be wrong with one,
// shows when it is opened.
func (d *Daemon) checkDatabase(ctx context.Context) error {
	if d.databaseURL() != "" {
		return nil
	}
	path := filepath.Join(d.dataDir, storeFile)
	if begin, err := beginningOf(path); err == nil && len(begin) > 0 && !bytes.Equal(begin, []byte(sqliteMagic)) {
		return usage("%s is no SQLite database: move it away, or use another data directory", path)
	}
	if _, err := store.Inspect(ctx, store.Options{Path: path}); errors.Is(err, store.ErrNewer) {
		var newer *store.NewerError
		if errors.As(err, &newer) {
			err = newer // once the path is enough
		}
		return &UsageError{Err: err}
	}
	return nil
}

// checkSandbox refuses a configuration that names a sandbox which this host does not
// have. Whether it stays is another matter.
func (d *Daemon) checkSandbox(ctx context.Context) error {
	var err error
	switch d.Config.Sandbox.Use {
	case config.SandboxDocker:
		err = docker.Check(ctx)
	case config.SandboxBubblewrap:
		var wall sandbox.Runner
		if wall, err = sandbox.NewBubblewrap(ctx, sandbox.BubblewrapOptions{Network: d.Config.Sandbox.Network, Logger: d.log}); err == nil {
			err = wall.Close()
		}
	}
	if err != nil && ctx.Err() == nil {
		return usage("sandbox.use: this host cannot do what the configuration asks for: %w", err)
	}
	return err
}

// beginningOf reads as much of a file as sqliteMagic has; less of a shorter one.
func beginningOf(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // in the user's own data directory
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, int64(len(sqliteMagic))))
}
