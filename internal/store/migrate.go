package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// dialect names a database and the folder of its migrations.
type dialect string

const (
	dialectSQLite   dialect = "sqlite"
	dialectPostgres dialect = "postgres"
)

// How often a process asks for the lock that another one holds while it
// migrates, in seconds, and how many times.
const (
	lockPause    = 1
	lockAttempts = 300
)

// migrate brings the schema up to date. The caller has checked that it is not
// newer.
func migrate(ctx context.Context, db *sql.DB, d dialect) error {
	files, err := fs.Sub(migrations, path.Join("migrations", string(d)))
	if err != nil {
		return fmt.Errorf("find migrations: %w", err)
	}
	options := []goose.ProviderOption{goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true)}
	kind := goose.DialectSQLite3
	if d == dialectPostgres {
		kind = goose.DialectPostgres
		// Processes that start together migrate one after the other.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockPause, lockAttempts))
		if err != nil {
			return fmt.Errorf("prepare the migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(kind, db, files, options...)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}

// knownVersion is the newest schema version of this binary.
func knownVersion(d dialect) (int64, error) {
	entries, err := fs.ReadDir(migrations, path.Join("migrations", string(d)))
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	var newest int64
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number: %w", e.Name(), err)
		}
		newest = max(newest, n)
	}
	return newest, nil
}

// checkVersion compares the version that query finds with ours.
func checkVersion(ctx context.Context, db *sql.DB, d dialect, name string) error {
	var found sql.NullInt64
	if err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&found); err != nil {
		return fmt.Errorf("read the schema version of %s: %w", name, err)
	}
	known, err := knownVersion(d)
	if err != nil {
		return err
	}
	if found.Int64 > known {
		return &NewerError{Database: name, Found: found.Int64, Known: known}
	}
	return nil
}

// checkSQLiteVersion looks at a file without writing to it: a newer one stays
// as it is, and one that is not ours is not taken over.
func checkSQLiteVersion(ctx context.Context, file string) (err error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at database %s: %w", file, err)
	}
	db, err := sql.Open("sqlite", sqliteURL(file, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}))
	if err != nil {
		return fmt.Errorf("look at database %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables, ours int
	err = db.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(CASE WHEN name = 'goose_db_version' THEN 1 END) FROM sqlite_master`).Scan(&tables, &ours)
	if err != nil {
		return fmt.Errorf("look at database %s: %w", file, err)
	}
	if tables == 0 {
		return nil
	}
	if ours == 0 {
		return fmt.Errorf("%s is a database of another program: name another file: %w", file, ErrInvalid)
	}
	return checkVersion(ctx, db, dialectSQLite, file)
}
