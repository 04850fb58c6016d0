package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Options say which database to open.
type Options struct {
	// URL is a Postgres address; empty means SQLite.
	URL string
	// Path is the SQLite file; it is made when it is missing, its folder is not.
	Path string
	// Synchronous is FULL (the default: what was acknowledged survives a power
	// cut) or NORMAL (it survives a crash of the process). SQLite only.
	Synchronous string
	// BusyTimeout is how long a lock that another process holds on the SQLite
	// file is waited for; 5 s by default.
	BusyTimeout time.Duration
	// Logger gets what no caller can be told; slog.Default by default.
	Logger *slog.Logger
	// OnEvents is told, after the commit, what was appended to a thread, in
	// order. It must not block, and must not change the events.
	OnEvents func(threadID string, events []Event)
}

// Store is an open database. It is safe for many goroutines at once.
type Store struct {
	db    backend
	clock *clock
	cache *rowCache
	// trouble is what the last write found.
	trouble trouble
}

// backend is SQLite or Postgres.
type backend interface {
	// write runs work on a thread in one transaction.
	write(ctx context.Context, threadID string, do work) error
	// read runs queries; with snapshot all of them see the same moment.
	read(ctx context.Context, snapshot bool, fn func(ctx context.Context, q querier) error) error
	listen(ctx context.Context, wake func(threadID string)) error
	dialect() dialect
	// away reports whether an error says that the database cannot be worked with
	// at the moment.
	away(err error) bool
	close() error
}

// Open opens a database and brings its schema up to date. The error is an
// [ErrNewer], and nothing was touched, when a newer binary made it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	cache, err := newRowCache()
	if err != nil {
		return nil, err
	}
	s := &Store{clock: &clock{}, cache: cache}
	switch {
	case o.URL != "":
		db, err := openPostgres(ctx, o, s.clock)
		if err != nil {
			return nil, err
		}
		s.db = db
	case o.Path != "":
		db, err := openSQLite(ctx, o, s.clock)
		if err != nil {
			return nil, err
		}
		s.db = db
	default:
		return nil, fmt.Errorf("open the database: neither a URL nor a file was named: %w", ErrInvalid)
	}
	return s, nil
}

// Close finishes queued writes and closes the database. Whatever is called after
// it gives [ErrClosed], except Close, which must be called once.
func (s *Store) Close() error {
	if err := s.db.close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// Listen calls wake with the id of each thread that another process appends to,
// until ctx ends. It connects again by itself. With SQLite there is
// nothing to hear: other processes are found by polling.
func (s *Store) Listen(ctx context.Context, wake func(threadID string)) error {
	return s.db.listen(ctx, wake)
}

// write runs work on a thread in one transaction.
func (s *Store) write(ctx context.Context, threadID string, do work) error {
	err := s.bounded(ctx, func(ctx context.Context) error { return s.db.write(ctx, threadID, do) })
	s.trouble.note(err)
	return err
}

// read runs queries that need not agree with each other.
func (s *Store) read(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	return s.bounded(ctx, func(ctx context.Context) error { return s.db.read(ctx, false, fn) })
}

// snapshot runs queries that all see the same moment.
func (s *Store) snapshot(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	return s.bounded(ctx, func(ctx context.Context) error { return s.db.read(ctx, true, fn) })
}

// wrap says what was being done, if anything went wrong.
func wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
