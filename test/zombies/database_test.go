package zombies

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// barrier makes writers of the database stand still in the middle of their
// transaction, and tells who stands there.
type barrier struct {
	t    *testing.T
	hold *pgx.Conn // its session has the lock
	look *pgx.Conn
}

// barrierKey is the advisory lock of the trigger.
const barrierKey = 74

// newBarrier puts a closed barrier before inserts into a table that meet a
// condition on the new row.
func newBarrier(t *testing.T, url, table, condition string) *barrier {
	t.Helper()
	ctx := patient(t)
	b := &barrier{t: t}
	for _, conn := range []**pgx.Conn{&b.hold, &b.look} {
		c, err := pgx.Connect(ctx, url)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		*conn = c
	}
	for _, text := range []string{
		`CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(74); RETURN NEW; END $$`,
		`CREATE TRIGGER stand_still BEFORE INSERT ON ` + table + ` FOR EACH ROW WHEN (` + condition + `) EXECUTE FUNCTION stand_still()`,
	} {
		_, err := b.look.Exec(ctx, text)
		require.NoError(t, err)
	}
	_, err := b.hold.Exec(ctx, `SELECT pg_advisory_lock($1)`, barrierKey)
	require.NoError(t, err)
	return b
}

// waiting are the local ports of the connections that stand at the barrier.
func (b *barrier) waiting() []int {
	b.t.Helper()
	rows, err := b.look.Query(patient(b.t), `SELECT client_port FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`)
	require.NoError(b.t, err)
	ports, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(b.t, err)
	return ports
}

// open lets all go on, now and later.
func (b *barrier) open() {
	b.t.Helper()
	_, err := b.hold.Exec(patient(b.t), `SELECT pg_advisory_unlock($1)`, barrierKey)
	require.NoError(b.t, err)
}
