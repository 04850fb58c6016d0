package stop

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"deerflow/internal/testkit"
)

// soon is how long a stop may take on a machine that is busy with other tests.
const soon = 5 * time.Second

// lockSQLite takes the write lock of the product's file, as another process may,
// and gives what lets go of it.
func lockSQLite(t *testing.T, dataDir string) (unlock func()) {
	t.Helper()
	file := url.URL{Scheme: "file", Path: filepath.Join(dataDir, "deerflow.db"), RawQuery: "_pragma=busy_timeout(20000)"}
	db, err := sql.Open("sqlite", file.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(patient(t))
	require.NoError(t, err)
	_, err = conn.ExecContext(patient(t), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		require.NoError(t, err)
	}
}

// lockPostgres takes every table for itself: nobody else reads or writes.
func lockPostgres(t *testing.T, address string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(patient(t), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, text := range []string{"BEGIN", "LOCK TABLE threads, runs, messages, claims, events, checkpoints, plans, api_keys IN ACCESS EXCLUSIVE MODE"} {
		_, err = conn.Exec(patient(t), text)
		require.NoError(t, err)
	}
	return func() {
		_, err := conn.Exec(context.Background(), "ROLLBACK")
		require.NoError(t, err)
	}
}

// whileLocked stops a thread that streams and one whose command runs while the
// database is locked: both end at once, and nothing is lost.
func whileLocked(t *testing.T, p product, m *testkit.Model, gate *testkit.Gate, lock func() (unlock func()), held time.Duration) {
	t.Helper()
	talk, work := p.newThread(t), p.newThread(t)
	working := p.start(t, work, "work")
	command := p.command(t)
	awaitFile(t, filepath.Join(p.workspace(work), "started"))
	talking := p.start(t, talk, "talk")
	<-gate.Reached()
	p.shows(t, talk, talking, "this much")
	unlock := lock()
	locked := time.Now()

	w := watch(t)
	answers := make(chan error, 2)
	for thread, run := range map[string]string{talk: talking, work: working} {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			answers <- p.api.CancelRun(ctx, thread, run, testkit.CancelOptions{})
		}()
	}
	w.within(soon, "the model request was closed", closed(m.RequestsTo(testkit.LastUser("talk"))[0]))
	w.within(soon, "the command was gone", groupGone(command.Group))
	for range 2 {
		require.NoError(t, <-answers, "a stop is taken while the database is locked")
	}
	time.Sleep(time.Until(locked.Add(held))) // this long it is locked: that is the case
	unlock()

	p.awaitInterrupted(t, talk, talking)
	p.awaitInterrupted(t, work, working)
	t.Logf("both runs had ended %v after the lock was gone", time.Since(locked.Add(held)).Round(time.Millisecond))
	list := p.messages(t, talk)
	require.Len(t, list, 2)
	require.Contains(t, list[1].Text(), "this much", "the text that was shown stays")
	require.Len(t, p.messages(t, work), 3)
	p.goesOn(t, m, talk)
	p.goesOn(t, m, work)
}

func lockedModel(t *testing.T) (*testkit.Model, *testkit.Gate) {
	t.Helper()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.On(testkit.LastUser("talk")).Enqueue(testkit.Text("this much was on the screen and then", testkit.WithChunks(6), testkit.At(4, testkit.Hold(gate))))
	m.On(testkit.LastUser("work")).Enqueue(testkit.ToolCalls(bash("c1", "touch started; sleep 3600.125 & sleep 3600.25")))
	return m, gate
}

func TestStopWhileTheSQLiteFileIsLockedFor20Seconds(t *testing.T) {
	t.Parallel()
	m, gate := lockedModel(t)
	p := startDev(t, testkit.ConfigFor(m))
	whileLocked(t, p, m, gate, func() func() { return lockSQLite(t, p.dataDir) }, 20*time.Second)
}

func TestStopWhileThePostgresTablesAreLocked(t *testing.T) {
	t.Parallel()
	m, gate := lockedModel(t)
	address := postgres.Database(t)
	p, _ := startSplit(t, testkit.SplitOptions{DatabaseURL: address, Config: testkit.ConfigFor(m)})
	whileLocked(t, p, m, gate, func() func() { return lockPostgres(t, address) }, 8*time.Second)
}
