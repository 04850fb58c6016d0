package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// postgresConns is how many connections a process holds at most.
	postgresConns = 16
	// stripes is how many threads this process writes to at once at most.
	stripes = 256
)

// postgresBackend is a pool of connections. Jobs on the same thread queue here
// rather than in the database, so that their events are announced in order.
type postgresBackend struct {
	db       *sql.DB
	config   *pgx.ConnConfig
	clock    *clock
	onEvents func(threadID string, events []Event)
	notifier *notifier
	closed   atomic.Bool
	seed     maphash.Seed
	queues   [stripes]chan struct{}
	texts    *sync.Map
}

func openPostgres(ctx context.Context, o Options, c *clock) (*postgresBackend, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w: %w", ErrInvalid, err) // pgx hides the password
	}
	name := fmt.Sprintf("%s on %s:%d", config.Database, config.Host, config.Port)
	b := &postgresBackend{
		db: stdlib.OpenDB(*config, stdlib.OptionAfterConnect(boundTransactions)), config: config, clock: c, onEvents: o.OnEvents,
		seed: maphash.MakeSeed(), texts: &sync.Map{},
	}
	for i := range b.queues {
		b.queues[i] = make(chan struct{}, 1)
	}
	b.db.SetMaxOpenConns(postgresConns)
	b.db.SetMaxIdleConns(postgresConns)
	b.db.SetConnMaxIdleTime(5 * time.Minute)
	if err := b.prepareSchema(ctx, name); err != nil {
		_ = b.db.Close() // the first error says more
		return nil, fmt.Errorf("open database %s: %w", name, err)
	}
	b.notifier = newNotifier(ctx, b.db, o.Logger)
	return b, nil
}

// boundTransactions lets the server end a transaction whose client does nothing
// for 5 s. A worker that stands still in one would hold the row of its thread,
// and whoever takes its place would wait for as long as it does.
func boundTransactions(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `SET idle_in_transaction_session_timeout = '5s'`); err != nil {
		return fmt.Errorf("bound idle transactions: %w", err)
	}
	return nil
}

func (b *postgresBackend) prepareSchema(ctx context.Context, name string) error {
	var table sql.NullString
	if err := b.db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version')::text`).Scan(&table); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if table.Valid {
		if err := checkVersion(ctx, b.db, dialectPostgres, name); err != nil {
			return err
		}
	}
	return migrate(ctx, b.db, dialectPostgres)
}

func (b *postgresBackend) write(ctx context.Context, threadID string, do work) error {
	if b.closed.Load() {
		return ErrClosed
	}
	queue := b.queues[maphash.String(b.seed, threadID)%stripes]
	select {
	case queue <- struct{}{}:
		defer func() { <-queue }()
	case <-ctx.Done():
		return ctx.Err()
	}
	dbtx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin to write: %w", err)
	}
	t := &tx{querier: numbered{dbtx, b.texts}, locking: true, now: b.clock.now()}
	if err := t.run(ctx, do); err != nil {
		_ = dbtx.Rollback() // a broken connection has rolled back by itself
		return err
	}
	if err := dbtx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(t.events) > 0 {
		if b.onEvents != nil {
			b.onEvents(t.thread, t.events)
		}
		b.notifier.add(t.thread)
	}
	return nil
}

// read calls fn again when its connection was cut under it: a read does no harm
// when it is done twice, and after a restart of the server every connection of the
// pool is one of those.
func (b *postgresBackend) read(ctx context.Context, snapshot bool, fn func(ctx context.Context, q querier) error) error {
	for tried := 0; ; tried++ {
		err := b.readOnce(ctx, snapshot, fn)
		if !cutOff(err) || tried == postgresConns || ctx.Err() != nil {
			return err
		}
	}
}

func (b *postgresBackend) readOnce(ctx context.Context, snapshot bool, fn func(ctx context.Context, q querier) error) error {
	if b.closed.Load() {
		return ErrClosed
	}
	if !snapshot {
		return fn(ctx, numbered{b.db, b.texts})
	}
	dbtx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	defer func() { _ = dbtx.Rollback() }() // nothing was written
	return fn(ctx, numbered{dbtx, b.texts})
}

func (b *postgresBackend) close() error {
	b.closed.Store(true)
	b.notifier.close()
	return b.db.Close()
}

func (b *postgresBackend) listen(ctx context.Context, wake func(threadID string)) error {
	return b.notifier.listen(ctx, b.config, wake)
}

func (b *postgresBackend) dialect() dialect { return dialectPostgres }
