package store

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// notifyChannel carries ids of threads that have new events.
	notifyChannel = "deerflow_events"
	// notifyPause lets ids gather: a notice is a transaction of its own, and
	// takes a lock that all transactions with notices share.
	notifyPause = 10 * time.Millisecond
	// listenPause is the time between attempts to connect again.
	listenPause = time.Second
)

// notifier tells other processes which threads have new events, a little after
// their commit, so that no commit waits for the lock of NOTIFY.
type notifier struct {
	db      *sql.DB
	log     *slog.Logger
	process string // tells our own notices apart
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{}
	quit    chan struct{}
	stopped chan struct{}
}

func newNotifier(ctx context.Context, db *sql.DB, log *slog.Logger) *notifier {
	n := &notifier{
		db: db, log: log, process: uuid.NewString(), pending: map[string]struct{}{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go n.loop(context.WithoutCancel(ctx))
	return n
}

// add never blocks.
func (n *notifier) add(threadID string) {
	n.mu.Lock()
	n.pending[threadID] = struct{}{}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// close sends what is pending and stops.
func (n *notifier) close() {
	close(n.quit)
	<-n.stopped
}

func (n *notifier) loop(ctx context.Context) {
	defer close(n.stopped)
	for {
		select {
		case <-n.wake:
		case <-n.quit:
			n.send(ctx)
			return
		}
		select {
		case <-time.After(notifyPause):
		case <-n.quit:
		}
		n.send(ctx)
	}
}

func (n *notifier) send(ctx context.Context) {
	n.mu.Lock()
	ids := make([]string, 0, len(n.pending))
	for id := range n.pending {
		ids = append(ids, id)
	}
	clear(n.pending)
	n.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := n.db.ExecContext(ctx, `SELECT pg_notify($1, $2 || ' ' || id) FROM unnest($3::text[]) AS id`, notifyChannel, n.process, ids)
	if err != nil {
		// Readers in other processes find the rows by polling.
		n.log.Warn("Could not announce new events to other processes", "threads", len(ids), "error", err)
	}
}

// listen hears notices over a connection of its own until ctx ends.
func (n *notifier) listen(ctx context.Context, config *pgx.ConnConfig, wake func(threadID string)) error {
	for {
		err := n.hear(ctx, config, wake)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.log.Warn("Lost the connection that announces new events, connecting again", "error", err)
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *notifier) hear(ctx context.Context, config *pgx.ConnConfig, wake func(threadID string)) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end) // it was for reading only
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if process, threadID, _ := strings.Cut(notice.Payload, " "); process != n.process {
			wake(threadID)
		}
	}
}
