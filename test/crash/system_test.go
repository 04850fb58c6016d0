package crash

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // opens Postgres
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // opens SQLite

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// continueEvents is after how many events a workflow continues as new: often
// enough for a run of some turns to come to it, seldom enough for the others.
const continueEvents = "thread:\n  continue_as_new_events: 100"

// victims are the parts that are killed. In one process they are one.
type victims struct{ api, worker bool }

var (
	killWorker = victims{worker: true}
	killAPI    = victims{api: true}
	killAll    = victims{api: true, worker: true}
)

func (v victims) String() string {
	switch v {
	case killWorker:
		return "worker killed"
	case killAPI:
		return "api killed"
	default:
		return "all killed"
	}
}

// system is the product in one of its shapes: as one process on SQLite, or as
// API and worker on Postgres with Temporal beside them.
type system struct {
	t      *testing.T
	cast   *cast
	points string // directory of the failpoints
	url    string // of the API
	data   string // directory
	dev    *testkit.Process
	split  *testkit.Split
	killed time.Time // the last time
	crowd  int       // other threads
	db     *sql.DB
}

func startOne(t *testing.T) *system {
	t.Helper()
	p := &system{t: t, cast: newCast(t), points: t.TempDir()}
	p.dev = testkit.StartDev(t, testkit.DevOptions{
		BinaryPath: testkit.BinaryWithFailpoints(t), Env: []string{"DEERFLOW_FAILPOINTS=" + p.points},
		Config: testkit.ConfigFor(p.cast.model, continueEvents),
	})
	p.url, p.data = p.dev.URL, p.dev.DataDir
	p.openDatabase("sqlite", "file:"+filepath.Join(p.data, "deerflow.db")+"?mode=ro")
	return p
}

func startSplit(t *testing.T) *system {
	t.Helper()
	p := &system{t: t, cast: newCast(t), points: t.TempDir()}
	url := postgres.Database(t)
	p.split = testkit.StartSplit(t, testkit.SplitOptions{
		DatabaseURL: url,
		BinaryPath:  testkit.BinaryWithFailpoints(t), Env: []string{"DEERFLOW_FAILPOINTS=" + p.points},
		Config: testkit.ConfigFor(p.cast.model, continueEvents),
	})
	p.url, p.data = "http://"+p.split.APIs[0].Addr, p.split.DataDir
	p.openDatabase("pgx", url)
	return p
}

func (p *system) openDatabase(driver, address string) {
	p.t.Helper()
	db, err := sql.Open(driver, address)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = db.Close() })
	p.db = db
}

// modelClaims is how many attempts have claimed the answers that a thread has.
func (p *system) modelClaims(t *testing.T, threadID string) int {
	t.Helper()
	var n int
	row := p.db.QueryRowContext(patient(t), `SELECT COALESCE(SUM(c.claim - c.closed), 0) FROM claims c
		WHERE c.thread_id = $1 AND EXISTS (SELECT 1 FROM messages m WHERE m.thread_id = c.thread_id AND m.id = c.message_id AND m.body LIKE '%"type":"ai"%')`, threadID)
	require.NoError(t, row.Scan(&n))
	return n
}

// API is a new client: connections of an older one may end at a dead process.
func (p *system) API(t *testing.T) *testkit.API {
	t.Helper()
	a := testkit.NewAPI(p.url)
	t.Cleanup(a.Close)
	return a
}

// kill sends SIGKILL to the victims, all at once.
func (p *system) kill(v victims) {
	p.t.Helper()
	defer func() { p.killed = time.Now() }()
	if p.dev != nil {
		p.dev.Kill9()
		return
	}
	var gone sync.WaitGroup
	if v.worker {
		gone.Go(p.split.Workers[0].Kill9)
	}
	if v.api {
		gone.Go(p.split.APIs[0].Kill9)
	}
	gone.Wait()
}

// restart starts the victims again at the same address, on the same data.
func (p *system) restart(v victims) {
	p.t.Helper()
	if p.dev != nil {
		p.dev = p.dev.Restart(func(o *testkit.DevOptions) { o.Listen = p.dev.Addr() })
		return
	}
	if v.worker {
		p.split.Workers[0].Launch()
	}
	if v.api {
		p.split.APIs[0].Launch()
		p.split.APIs[0].AwaitReady()
	}
	if v.worker {
		p.split.Workers[0].AwaitReady()
	}
	p.split.AwaitHealthy(0)
}

// loseTemporal deletes the database of Temporal while nothing runs.
func (p *system) loseTemporal() {
	p.t.Helper()
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.db-shm"} {
		if err := os.Remove(filepath.Join(p.data, name)); err != nil {
			require.ErrorIs(p.t, err, os.ErrNotExist)
		}
	}
}

// arm makes the call that comes to a point of a thread, after others that pass,
// stand still there.
func (p *system) arm(t *testing.T, point failpoint.Point, threadID string, passing int) {
	t.Helper()
	path := filepath.Join(p.points, string(point)+"@"+threadID)
	require.NoError(t, os.WriteFile(path+".new", []byte(strconv.Itoa(passing)), 0o600))
	require.NoError(t, os.Rename(path+".new", path+".armed"))
}

// reached waits until a call stands at an armed point, or the request that was
// to come there was answered.
func (p *system) reached(t *testing.T, point failpoint.Point, threadID string, answered chan error) {
	t.Helper()
	path := filepath.Join(p.points, string(point)+"@"+threadID+".reached")
	require.Eventually(t, func() bool { return exists(path) || len(answered) > 0 }, patience, tick, "nothing came to %s", point)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// workspace is where the commands of a thread run.
func (p *system) workspace(threadID string) string {
	return filepath.Join(p.data, "users", "default", "threads", threadID, "user-data", "workspace")
}
