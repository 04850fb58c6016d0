package bench

import (
	"context"
	"database/sql"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"deerflow/internal/store/pgtest"
	"deerflow/internal/testkit"
)

// resumeSplit measures what resume does, as worker and API on Postgres: both are
// killed and started again, then the worker alone, and then one of two workers
// for good.
func resumeSplit(ctx context.Context, s *sheet, m *testkit.Model) {
	var postgres pgtest.Shared
	defer func() { require.NoError(s.t, postgres.Stop()) }()
	for _, c := range []struct {
		name    string
		workers int
		kill    func(p *testkit.Split)
		bar     float64
	}{
		{"api and worker", 1, func(p *testkit.Split) { p.Kill9(); p.Restart() }, 3},
		{"the worker", 1, func(p *testkit.Split) { p.Workers[0].Kill9(); p.Workers[0].Start() }, 3},
		{"one of two workers, for good", 2, func(p *testkit.Split) { p.Workers[0].Kill9() }, 0},
	} {
		url := postgres.Database(s.t)
		p := testkit.StartSplit(s.t, testkit.SplitOptions{DatabaseURL: url, Config: configFor(m), Workers: c.workers})
		db, err := sql.Open("pgx", url)
		require.NoError(s.t, err)
		all := killUnderLoad(ctx, s, p, db, c.kill)
		require.NoError(s.t, db.Close())
		p.Kill9()
		p.Temporal.Kill9()
		s.add(figure{name: "kill -9 of " + c.name + ", p50", value: percentile(all, .5).Seconds(), unit: "s"})
		s.add(figure{name: "kill -9 of " + c.name + ", p95", value: percentile(all, .95).Seconds(), unit: "s", bar: c.bar})
	}
}

// killUnderLoad gives the times from a kill to the next event of each thread.
func killUnderLoad(ctx context.Context, s *sheet, p *testkit.Split, db *sql.DB, kill func(p *testkit.Split)) []time.Duration {
	const threads = 20
	ids := make([]string, threads)
	for i := range ids {
		ids[i] = newThread(ctx, s.t, p.API(0))
		_, err := p.API(0).CreateRun(ctx, ids[i], question(600))
		require.NoError(s.t, err)
	}
	time.Sleep(2 * time.Second) // under load is what is measured
	killed := time.Now()
	kill(p)
	all := make([]time.Duration, 0, threads)
	for _, id := range ids {
		all = append(all, postgresEventAfter(ctx, s, db, id, killed))
	}
	return all
}

// postgresEventAfter waits for the first event of a thread that is newer than a
// kill, leaving out those of the moment of the kill itself.
func postgresEventAfter(ctx context.Context, s *sheet, db *sql.DB, thread string, killed time.Time) time.Duration {
	const moment = 150 * time.Millisecond
	for {
		var at sql.NullInt64
		err := db.QueryRowContext(ctx, "SELECT min(at) FROM events WHERE thread_id = $1 AND at > $2", thread, killed.Add(moment).UnixMicro()).Scan(&at)
		require.NoError(s.t, err)
		if at.Valid {
			return time.UnixMicro(at.Int64).Sub(killed)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
