package limits

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver of the product's file

	"deerflow/internal/store/pgtest"
	"deerflow/internal/testkit"
)

// work is a model that stops in the middle of an answer, then calls a tool that
// must run once, then is done; the tool waits for the test as well.
func work(t *testing.T) (m *testkit.Model, answering *testkit.Gate) {
	t.Helper()
	m, answering = testkit.NewModel(t), testkit.NewGate()
	m.On(testkit.LastUser("work")).Respond(testkit.ByTurn(
		testkit.Text("first half, second half", testkit.WithChunks(6), testkit.At(3, testkit.Hold(answering)),
			testkit.WithCalls(bash("b", "echo ran >> ran.txt; cat ran.txt"))),
		testkit.Text("all done"),
	))
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	return m, answering
}

// worked is the transcript of that run.
var worked = []string{"human: work", "ai: first half, second half", "tool: ran", "ai: all done"}

// requireWorked checks the transcript of that run, and that no answer was paid
// for twice.
func requireWorked(t *testing.T, api *testkit.API, threadID string, m *testkit.Model) {
	t.Helper()
	requireTranscript(t, api, threadID)
	require.Len(t, m.RequestsTo(testkit.AnyMessage("work")), 2, "no answer was paid for twice")
}

func requireTranscript(t *testing.T, api *testkit.API, threadID string) {
	t.Helper()
	list := texts(messages(t, api, threadID))
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	require.Equal(t, worked, list)
}

// refusedSoon asks for a run, which must be refused with 503, and soon.
func refusedSoon(t *testing.T, api *testkit.API, threadID, says string) {
	t.Helper()
	asked := time.Now()
	_, err := api.CreateRun(patient(t), threadID, testkit.SayWatched("too early"))
	require.Equal(t, http.StatusServiceUnavailable, testkit.StatusOf(err), "%v", err)
	require.ErrorContains(t, err, says)
	require.Less(t, time.Since(asked), 15*time.Second, "it does not hang")
}

// The product's file is locked by another process in the middle of an answer.
func TestTheDatabaseIsLocked(t *testing.T) {
	t.Parallel()
	m, answering := work(t)
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	api := p.API()
	id, other := newThread(t, api), newThread(t, api)
	ctx := patient(t)
	stream, err := api.StreamRun(ctx, id, testkit.SayWatched("work"))
	require.NoError(t, err)
	defer stream.Close()
	<-answering.Reached()

	db, err := sql.Open("sqlite", filepath.Join(p.DataDir, "deerflow.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	lock, err := db.Conn(ctx)
	require.NoError(t, err)
	_, err = lock.ExecContext(ctx, "PRAGMA busy_timeout = 10000")
	require.NoError(t, err)
	_, err = lock.ExecContext(ctx, "BEGIN IMMEDIATE")
	require.NoError(t, err)
	locked := time.Now()
	answering.Release()
	sick(t, api, "database")
	refusedSoon(t, api, other, "database")
	time.Sleep(time.Until(locked.Add(outage)))
	_, err = lock.ExecContext(ctx, "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, lock.Close())

	_, err = stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err, "the reader keeps its stream")
	healthy(t, api)
	requireWorked(t, api, id, m)
	require.Equal(t, "success", run(t, api, other, testkit.SayWatched("hello")).Status)
}

// away runs the product on a Postgres of its own, takes the database away in the
// middle of an answer, and gives it back.
func away(t *testing.T, take, give func(t *testing.T, server *pgtest.Server, url string), hangs bool) {
	t.Helper()
	server, err := pgtest.Start(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	if server.Pid() == 0 {
		t.Skip("the Postgres of the environment is not ours to stop")
	}
	url, err := server.Database(t.Context(), "deerflow")
	require.NoError(t, err)
	m, answering := work(t)
	s := testkit.StartSplit(t, testkit.SplitOptions{DatabaseURL: url, Config: testkit.ConfigFor(m)})
	api := s.API(0)
	id, other := newThread(t, api), newThread(t, api)
	ctx := patient(t)
	stream, err := api.StreamRun(ctx, id, testkit.SayWatched("work"))
	require.NoError(t, err)
	defer stream.Close()
	<-answering.Reached()

	take(t, server, url)
	taken := time.Now()
	answering.Release()
	sick(t, api, "database")
	refusedSoon(t, api, other, "database")
	if !hangs {
		require.NoError(t, stream.AwaitComments(ctx, 1), "the reader is kept, and hears of it")
	}
	time.Sleep(time.Until(taken.Add(outage)))
	give(t, server, url)

	_, err = stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err, "the reader keeps its stream")
	healthy(t, api)
	requireWorked(t, api, id, m)
	require.Equal(t, "success", run(t, api, other, testkit.SayWatched("hello")).Status)
}

func TestPostgresIsStoppedAndStarted(t *testing.T) {
	t.Parallel()
	away(t, func(t *testing.T, server *pgtest.Server, _ string) {
		t.Helper()
		require.True(t, server.Halt())
	}, func(t *testing.T, server *pgtest.Server, _ string) {
		t.Helper()
		require.NoError(t, server.Resume(t.Context()))
	}, false)
}

// A table that is locked lets nobody write or read, and says nothing.
func TestPostgresTablesAreLocked(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	away(t, func(t *testing.T, _ *pgtest.Server, url string) {
		t.Helper()
		var err error
		conn, err = pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE threads, messages, claims, runs, checkpoints, events")
		require.NoError(t, err)
	}, func(t *testing.T, _ *pgtest.Server, _ string) {
		t.Helper()
		require.NoError(t, conn.Close(t.Context()))
	}, true)
}

// Connections that are cut are opened again; nobody notices.
func TestPostgresConnectionsAreCut(t *testing.T) {
	t.Parallel()
	url := postgres.Database(t)
	m := testkit.NewModel(t)
	const turns = 12
	m.Respond(func(r *testkit.Request) testkit.Reply {
		if r.Turn() == turns {
			return testkit.Text("done")
		}
		return testkit.ToolCalls(bash(fmt.Sprint("b", r.Turn()), fmt.Sprintf("echo %d >> ran.txt; tail -n 1 ran.txt", r.Turn())))
	})
	s := testkit.StartSplit(t, testkit.SplitOptions{DatabaseURL: url, Config: testkit.ConfigFor(m)})
	id := newThread(t, s.API(0))
	ctx := patient(t)
	r, err := s.API(0).CreateRun(ctx, id, testkit.SayWatched("work"))
	require.NoError(t, err)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	for n := 1; n < turns; n += 3 {
		_, err := m.Await(ctx, n)
		require.NoError(t, err)
		_, err = conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		require.NoError(t, err)
	}
	_, err = s.API(0).AwaitRun(ctx, id, r.RunID, "success")
	require.NoError(t, err)
	list := messages(t, s.API(0), id)
	require.Len(t, list, 1+2*turns+1)
	for n := range turns {
		text := list[2+2*n].Text()
		require.True(t, strings.TrimSpace(text) == fmt.Sprint(n) || strings.Contains(text, "may have run"), "%d: %s", n, text)
	}
}

// Temporal is frozen: it takes connections and never answers.
func TestTemporalIsFrozen(t *testing.T) {
	t.Parallel()
	m, answering := work(t)
	s := testkit.StartSplit(t, testkit.SplitOptions{DatabaseURL: postgres.Database(t), Config: testkit.ConfigFor(m)})
	api := s.API(0)
	id, other := newThread(t, api), newThread(t, api)
	ctx := patient(t)
	stream, err := api.StreamRun(ctx, id, testkit.SayWatched("work"))
	require.NoError(t, err)
	defer stream.Close()
	<-answering.Reached()
	require.NoError(t, syscall.Kill(s.Temporal.Pid(), syscall.SIGSTOP))
	frozen := time.Now()
	answering.Release()
	sick(t, api, "temporal")
	refusedSoon(t, api, other, "Temporal")
	time.Sleep(time.Until(frozen.Add(outage)))
	require.NoError(t, syscall.Kill(s.Temporal.Pid(), syscall.SIGCONT))
	_, err = stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	healthy(t, api)
	requireWorked(t, api, id, m)
	require.Equal(t, "success", run(t, api, other, testkit.SayWatched("hello")).Status)
}

// M10: a model that refuses, is overloaded, resets and hangs is tried again for
// as long as the policy says, and the user sees that; then it answers.
func TestM10TheModelIsAway(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	var begun time.Time
	m.Respond(func(r *testkit.Request) testkit.Reply {
		switch {
		case time.Since(begun) > outage:
			return testkit.Text("back")
		case r.N%3 == 0:
			return testkit.Steps(testkit.Reset())
		case r.N%3 == 1:
			return testkit.APIError(http.StatusServiceUnavailable, "", "try later")
		}
		return testkit.Steps(testkit.Cut())
	})
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
	id := newThread(t, p.API())
	begun = time.Now()
	stream, err := p.API().StreamRun(patient(t), id, testkit.SayWatched("go"))
	require.NoError(t, err)
	defer stream.Close()
	frames, err := stream.Until(patient(t), testkit.IsEvent("end"))
	require.NoError(t, err)
	told := 0
	for _, f := range frames {
		if strings.Contains(f.Data, "llm_retry") && strings.Contains(f.Data, "Trying again") {
			told++
		}
	}
	require.Positive(t, told, "the user sees that it is tried again")
	require.Equal(t, []string{"human: go", "ai: back"}, texts(messages(t, p.API(), id)))
}

// M10: attempts and time are bounded: a model that hangs for good ends the run
// with a message, and the thread goes on.
func TestM10TheModelHangsForGood(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("go")).Always(testkit.Steps(testkit.Hang()))
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	config := strings.Replace(testkit.ConfigFor(m), "    api_key:", "    stream_chunk_timeout: 1\n    api_key:", 1)
	p := testkit.StartDev(t, testkit.DevOptions{Config: config})
	id := newThread(t, p.API())
	require.Equal(t, "error", run(t, p.API(), id, testkit.SayWatched("go")).Status)
	require.LessOrEqual(t, len(m.RequestsTo(testkit.LastUser("go"))), 3)
	list := messages(t, p.API(), id)
	require.Contains(t, list[1].Text(), "fell silent before its answer was whole")
	require.Equal(t, "success", run(t, p.API(), id, testkit.SayWatched("and now?")).Status)
}
