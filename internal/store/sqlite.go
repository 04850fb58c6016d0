package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the "sqlite" driver
)

// sqliteBackend is one file: a writer, and a few connections that only read.
type sqliteBackend struct {
	db      *sql.DB
	writer  *writer
	readers chan *prepared // a nil entry is a connection that broke
	slots   int
	closed  chan struct{}
}

// openSQLite opens the file, which is made when it is missing, and migrates it.
func openSQLite(ctx context.Context, o Options, c *clock) (*sqliteBackend, error) {
	mode := strings.ToUpper(o.Synchronous)
	if mode == "" {
		mode = "FULL"
	}
	if mode != "FULL" && mode != "NORMAL" {
		return nil, fmt.Errorf("synchronous %q: must be FULL or NORMAL: %w", o.Synchronous, ErrInvalid)
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Path, err)
	}
	if err := checkSQLiteVersion(ctx, path); err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqliteURL(path, url.Values{"_pragma": {
		"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
		"journal_mode(WAL)",
		"synchronous(" + mode + ")",
		"journal_size_limit(67108864)",
		"temp_store(MEMORY)",
	}}))
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	b := &sqliteBackend{db: db, slots: max(4, 2*runtime.GOMAXPROCS(0)), closed: make(chan struct{})}
	if err := b.start(ctx, o, c); err != nil {
		_ = db.Close() // the first error says more
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return b, nil
}

func (b *sqliteBackend) start(ctx context.Context, o Options, c *clock) error {
	b.db.SetMaxOpenConns(b.slots + 1)
	b.db.SetMaxIdleConns(b.slots + 1)
	if err := migrate(ctx, b.db, dialectSQLite); err != nil {
		return err
	}
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect the writer: %w", err)
	}
	b.readers = make(chan *prepared, b.slots)
	for range b.slots {
		b.readers <- nil
	}
	b.writer = newWriter(ctx, newPrepared(conn), c, o.OnEvents)
	return nil
}

// makePrivate makes the file when it is missing, for its owner only: the log
// files beside it take the same rights.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- the operator names the file
	if err != nil {
		return fmt.Errorf("make database %s: %w", path, err)
	}
	return f.Close()
}

func newPrepared(conn *sql.Conn) *prepared {
	return &prepared{conn: conn, stmts: map[string]*sql.Stmt{}}
}

// sqliteURL names a file in the way SQLite reads, whatever characters are in
// its path.
func sqliteURL(path string, options url.Values) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}
	return u.String()
}

func (b *sqliteBackend) write(ctx context.Context, _ string, do work) error {
	return b.writer.do(ctx, do)
}

// read runs fn on a connection of its own. With snapshot, all that fn reads is
// of one moment.
func (b *sqliteBackend) read(ctx context.Context, snapshot bool, fn func(ctx context.Context, q querier) error) error {
	var p *prepared
	select {
	case p = <-b.readers:
	case <-b.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { b.readers <- p }()
	if p == nil {
		conn, err := b.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connect a reader: %w", err)
		}
		p = newPrepared(conn)
	}
	if !snapshot {
		return fn(ctx, p)
	}
	if _, err := p.exec(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	err := fn(ctx, p)
	// Nothing was written; the caller's context may be over, the connection
	// goes on.
	if _, end := p.exec(context.WithoutCancel(ctx), "ROLLBACK"); end != nil {
		_ = closePrepared(p)
		p = nil
	}
	return err
}

func closePrepared(p *prepared) error {
	for _, st := range p.stmts {
		_ = st.Close() // the connection goes away next
	}
	if conn, ok := p.conn.(*sql.Conn); ok {
		return conn.Close()
	}
	return nil
}

// close waits for queued writes and open reads.
func (b *sqliteBackend) close() error {
	close(b.closed)
	b.writer.close()
	for range b.slots {
		if p := <-b.readers; p != nil {
			_ = closePrepared(p) // closing the database tells
		}
	}
	_ = closePrepared(b.writer.conn)
	return b.db.Close()
}

func (b *sqliteBackend) listen(ctx context.Context, _ func(threadID string)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (b *sqliteBackend) dialect() dialect { return dialectSQLite }

// defaultBusyTimeout is how long a lock that another process holds is waited
// for.
const defaultBusyTimeout = 5 * time.Second
