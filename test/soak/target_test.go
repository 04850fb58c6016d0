package soak

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	. "deerflow/internal/testkit"
)

// target is the product in one of its shapes, to be killed. Its methods are for
// the goroutine of the test, but for apis.
type target interface {
	name() string
	apis() []*API
	dataDir() string
	// kill kills one process of the product, gives the time, and starts it again.
	kill(r *rand.Rand) time.Time
	// stop ends the product and opens its database.
	stop() *sql.DB
	// grace is for how long after a kill an event may still be one from before.
	grace() time.Duration
}

// settings of all rounds: a question is asked again and again.
const settings = "loop_detection: {enabled: false}\nthread: {continue_as_new_events: 120}\nlog_level: error"

// one is everything in one process, on SQLite.
type one struct {
	t   *testing.T
	p   *Process
	api *API
}

func startOne(t *testing.T, m *Model) target {
	t.Helper()
	p := StartDev(t, DevOptions{Config: ConfigFor(m, settings)})
	return &one{t: t, p: p, api: p.API()}
}

func (o *one) name() string         { return "one process on SQLite" }
func (o *one) apis() []*API         { return []*API{o.api} }
func (o *one) dataDir() string      { return o.p.DataDir }
func (o *one) grace() time.Duration { return 0 }

func (o *one) kill(*rand.Rand) time.Time {
	o.p.Kill9()
	at := time.Now()
	o.p = o.p.Restart(func(d *DevOptions) { d.Listen = o.p.Addr() })
	return at
}

func (o *one) stop() *sql.DB {
	o.p.Stop()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.p.DataDir, "deerflow.db")+"?mode=ro")
	require.NoError(o.t, err)
	return db
}

// split is two workers and two APIs, on Postgres.
type split struct {
	t    *testing.T
	p    *Split
	url  string
	both []*API
}

func startSplit(t *testing.T, m *Model) target {
	t.Helper()
	url := postgres.Database(t)
	p := StartSplit(t, SplitOptions{DatabaseURL: url, Config: ConfigFor(m, settings), Workers: 2, APIs: 2})
	return &split{t: t, p: p, url: url, both: []*API{p.API(0), p.API(1)}}
}

func (s *split) name() string         { return "2 workers, 2 APIs, Postgres" }
func (s *split) apis() []*API         { return s.both }
func (s *split) dataDir() string      { return s.p.DataDir }
func (s *split) grace() time.Duration { return 150 * time.Millisecond }

func (s *split) kill(r *rand.Rand) time.Time {
	parts := append(append([]*Part{}, s.p.Workers...), s.p.APIs...)
	part := parts[r.IntN(len(parts))]
	part.Kill9()
	at := time.Now()
	part.Start()
	return at
}

func (s *split) stop() *sql.DB {
	s.p.Stop()
	db, err := sql.Open("pgx", s.url)
	require.NoError(s.t, err)
	return db
}
