package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Schema is the version of a database, and the newest one of this binary.
type Schema struct {
	Name  string // of the database, without a password
	Found int64  // 0: there is none yet
	Known int64
}

// Inspect looks at the database that [Open] would open, and changes nothing. The
// error is an [ErrNewer] when a newer binary made it.
func Inspect(ctx context.Context, o Options) (Schema, error) {
	if o.URL != "" {
		return inspectPostgres(ctx, o.URL)
	}
	s := Schema{Name: o.Path}
	var err error
	if s.Known, err = knownVersion(dialectSQLite); err != nil {
		return s, err
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return s, fmt.Errorf("find %s: %w", o.Path, err)
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return s, nil
	}
	if err := checkSQLiteVersion(ctx, path); err != nil {
		return s, err
	}
	db, err := sql.Open("sqlite", sqliteURL(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}))
	if err != nil {
		return s, fmt.Errorf("look at database %s: %w", path, err)
	}
	s.Found, err = foundVersion(ctx, db, `SELECT COUNT(*) FROM sqlite_master WHERE name = 'goose_db_version'`)
	if err = errors.Join(err, db.Close()); err != nil {
		return s, fmt.Errorf("look at database %s: %w", path, err)
	}
	return s, nil
}

func inspectPostgres(ctx context.Context, address string) (Schema, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return Schema{}, fmt.Errorf("read the database URL: %w: %w", ErrInvalid, err) // pgx hides the password
	}
	s := Schema{Name: fmt.Sprintf("%s on %s:%d", config.Database, config.Host, config.Port)}
	if s.Known, err = knownVersion(dialectPostgres); err != nil {
		return s, err
	}
	db := stdlib.OpenDB(*config)
	s.Found, err = foundVersion(ctx, db, `SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`)
	if err == nil && s.Found > s.Known {
		err = &NewerError{Database: s.Name, Found: s.Found, Known: s.Known}
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return s, fmt.Errorf("look at database %s: %w", s.Name, err)
	}
	return s, nil
}

// foundVersion is 0 when the table that holds it, which exists counts, is
// missing.
func foundVersion(ctx context.Context, db *sql.DB, exists string) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx, exists).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var found sql.NullInt64
	err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&found)
	return found.Int64, err
}
