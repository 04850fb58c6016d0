package store

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Every connection of the pool is cut, as a restart of the server does it. Readers
// do not notice.
func TestReadsOutlastCutConnections(t *testing.T) {
	t.Parallel()
	options := postgresOptions(t)
	f := openFixture(t, options)
	f.submit("t1", "r1", "hi")
	conn, err := pgx.Connect(f.ctx, options.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(f.ctx) })
	for range 20 {
		var readers sync.WaitGroup
		for range postgresConns { // so many connections are open
			readers.Go(func() {
				if _, err := f.View(f.ctx, "t1", ViewOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		_, err := conn.Exec(f.ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		require.NoError(t, err)
		_, err = f.GetThread(f.ctx, "t1")
		require.NoError(t, err)
	}
}
