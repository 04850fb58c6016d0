package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// longestCall bounds one call: a database that takes connections and never
// answers must not hold its callers for ever.
const longestCall = 10 * time.Second

// bounded gives a call its bound, and tells a database that cannot be worked
// with, which may be over in a moment, from an error of what was asked.
func (s *Store) bounded(ctx context.Context, call func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	err := call(inner)
	switch {
	case err == nil || ctx.Err() != nil: // the caller's own reason says more
		return err
	case inner.Err() != nil:
		return fmt.Errorf("%w: no answer within %s: %w", ErrUnavailable, longestCall, err)
	case s.db.away(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// troubleLasts is how long a write that failed speaks for the database when
// nobody has written since.
const troubleLasts = 30 * time.Second

// trouble remembers that the last write found the database away: one that is
// full can be read all the same.
type trouble struct {
	mu  sync.Mutex
	err error
	at  time.Time
}

func (t *trouble) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil || errors.Is(err, ErrUnavailable) {
		t.err, t.at = err, time.Now()
	}
}

func (t *trouble) now() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil || time.Since(t.at) > troubleLasts {
		return nil
	}
	return t.err
}

// Ping asks the database for a sign of life: that its tables can be read and
// written, which a lock of somebody else prevents, and that the last write did
// not fail for want of room.
func (s *Store) Ping(ctx context.Context) error {
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		var one int
		return get(ctx, q, `SELECT COUNT(*) FROM (SELECT 1 FROM threads LIMIT 1) AS sample`, nil, &one)
	})
	if err == nil {
		err = s.bounded(ctx, func(ctx context.Context) error {
			return s.db.write(ctx, "", func(ctx context.Context, t *tx) error {
				_, err := t.exec(ctx, `UPDATE threads SET last_seq = last_seq WHERE 1 = 0`)
				return err
			})
		})
	}
	if err == nil {
		err = s.trouble.now()
	}
	return wrap(err, "ping the database")
}

// away reports whether SQLite could not work: its file is locked by another
// process, its disk is full or broken, the file cannot be opened.
func (b *sqliteBackend) away(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	const primary = 0xff // the rest is detail
	switch e.Code() & primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// away reports whether Postgres could not work: it cannot be reached, it is
// starting or stopping, it has no room, a lock was waited for in vain.
func (b *postgresBackend) away(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code[:min(2, len(e.Code))] {
		case "08", "53", "57", "58": // connection, resources, operator, system
			return true
		case "40", "55": // deadlock, state or lock that is not available
			return true
		}
		return e.Code == "25006" // read only: a standby that is about to take over
	}
	var refused *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &refused) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// cutOff reports whether an error says that a connection was lost, not that there
// is no server to connect to.
func cutOff(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code == "57P01" || e.Code == "57P02" // ended by an administrator, or by a crash of another backend
	}
	var refused *pgconn.ConnectError
	return err != nil && !errors.As(err, &refused) &&
		(errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}
