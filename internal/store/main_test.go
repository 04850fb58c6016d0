package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/step"
	"deerflow/internal/store/pgtest"
	"deerflow/internal/thread"
)

// server is the Postgres of all tests; the first that asks starts it.
var server = sync.OnceValues(func() (*pgtest.Server, error) { return pgtest.Start(context.Background()) })

// databases are those in it, made one after the other; free are the ones that
// no test uses.
var (
	databases atomic.Int64
	free      = make(chan string, 1000)
)

func databaseName(n int64) string { return fmt.Sprintf("deerflow_test_%d_%d", os.Getpid(), n) }

func TestMain(m *testing.M) {
	code := m.Run()
	if databases.Load() > 0 {
		if err := dropAll(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func dropAll() error {
	s, err := server()
	if err != nil {
		return err
	}
	var errs []error
	for n := range databases.Load() {
		errs = append(errs, s.Drop(context.Background(), databaseName(n+1)))
	}
	return errors.Join(append(errs, s.Stop())...)
}

// recorder is an OnEvents that remembers.
type recorder struct {
	mu     sync.Mutex
	events map[string][]Event
}

func (r *recorder) add(threadID string, events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events == nil {
		r.events = map[string][]Event{}
	}
	r.events[threadID] = append(r.events[threadID], events...)
}

func (r *recorder) of(threadID string) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events[threadID]...)
}

// fixture is an empty store with what tests want at hand.
type fixture struct {
	*Store
	t   testing.TB
	ctx context.Context
	rec *recorder
	opt Options
}

// each runs a test against SQLite and, where there is one, Postgres.
func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(openFixture(t, sqliteOptions(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(openFixture(t, postgresOptions(t)))
	})
}

func sqliteOptions(tb testing.TB) Options {
	tb.Helper()
	return Options{Path: filepath.Join(tb.TempDir(), "deer flow?#%.db")}
}

// postgresOptions lend a database without rows.
func postgresOptions(tb testing.TB) Options {
	tb.Helper()
	url := ""
	select {
	case url = <-free:
	default:
		url = newDatabase(tb)
	}
	tb.Cleanup(func() {
		empty(tb, url)
		free <- url
	})
	return Options{URL: url}
}

// newDatabase makes an empty database.
func newDatabase(tb testing.TB) (url string) {
	tb.Helper()
	s, err := server()
	if errors.Is(err, pgtest.ErrNone) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	url, err = s.Database(tb.Context(), databaseName(databases.Add(1)))
	require.NoError(tb, err)
	return url
}

func empty(tb testing.TB, url string) {
	tb.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(tb, err)
	for _, table := range []string{
		"events", "messages", "claims", "checkpoints", "runs", "threads", "plans", "api_keys",
		"texts", "text_refs", "sources", "citations", "baselines", "file_changes",
	} {
		_, err := db.ExecContext(context.Background(), "DELETE FROM "+table)
		require.NoError(tb, err)
	}
	require.NoError(tb, db.Close())
}

func openFixture(tb testing.TB, o Options) *fixture {
	tb.Helper()
	f := &fixture{t: tb, ctx: tb.Context(), rec: &recorder{}, opt: o}
	o.OnEvents = f.rec.add
	s, err := Open(f.ctx, o)
	require.NoError(tb, err)
	f.Store = s
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return f
}

// newThread makes a thread of user "ann".
func (f *fixture) newThread(id string) string {
	f.t.Helper()
	_, err := f.CreateThread(f.ctx, NewThread{ID: id, User: "ann"}, IfExistsRaise)
	require.NoError(f.t, err)
	return id
}

// ref names a step of a run.
func ref(threadID, run string, n int) step.Ref {
	return step.Ref{Thread: threadID, User: "ann", Run: run, Step: n}
}

// submit stores a pending run with human messages "<run>-h0", ...
func (f *fixture) submit(threadID, run string, texts ...string) Run {
	f.t.Helper()
	messages := make([]thread.Message, len(texts))
	for i, text := range texts {
		messages[i] = thread.Human(fmt.Sprintf("%s-h%d", run, i), text)
	}
	stored, existing, err := f.SubmitRun(f.ctx, NewRun{
		Run: Run{ID: run, ThreadID: threadID, User: "ann"}, Messages: messages, CreateThread: true,
	})
	require.NoError(f.t, err)
	require.False(f.t, existing)
	return stored
}

var at = time.Date(2026, 1, 25, 9, 15, 20, 750374000, time.UTC)

// start takes a submitted run into the transcript.
func (f *fixture) start(threadID, run string, pos int64) []Row {
	f.t.Helper()
	rows, err := f.StartRun(f.ctx, StartRun{
		Ref: ref(threadID, run, 1), Pos: pos, AssistantID: "lead_agent", PlanHash: "h1", Plan: []byte(`{"p":1}`), At: at,
	})
	require.NoError(f.t, err)
	return rows
}

// owner claims a message of a step.
func (f *fixture) owner(r step.Ref) Owner {
	f.t.Helper()
	id := thread.MessageID(r.Run, r.Step)
	c, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: id})
	require.NoError(f.t, err)
	require.Nil(f.t, c.Done)
	return Owner{Ref: r, MessageID: id, Claim: c.Claim}
}

func delta(o Owner, text string) NewEvent {
	return NewEvent{Type: EventDelta, Data: Delta{MessageID: o.MessageID, Text: text}}
}

func ai(id, text string) thread.Message {
	return thread.Message{ID: id, Role: thread.RoleAI, Content: thread.Text(text)}
}

// finish completes a message of an owner.
func (f *fixture) finish(o Owner, pos int64, text string) Row {
	f.t.Helper()
	row, err := f.Finish(f.ctx, o, NewRow{Pos: pos, Message: ai(o.MessageID, text)})
	require.NoError(f.t, err)
	return row
}

func plainDigest(m *thread.Message, pos int64) thread.Digest { return m.Digest(pos) }

// commitInput is a commit of a step whose cursor shows [0, next).
func commitInput(r step.Ref, next int64, status thread.Status) step.CommitInput {
	return step.CommitInput{
		Ref: r, CheckpointID: fmt.Sprintf("cp-%s-%d", r.Run, r.Step), At: at, Checkpoint: []byte(`{"turn":1}`),
		Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: next}}}, NextPos: next, Status: status,
	}
}

func (f *fixture) commit(in step.CommitInput) step.CommitResult {
	f.t.Helper()
	result, err := f.Commit(f.ctx, in, plainDigest)
	require.NoError(f.t, err)
	return result
}

// log reads all events of a thread and checks that numbers have no gaps and
// that listeners heard the same.
func (f *fixture) log(threadID string) []Event {
	f.t.Helper()
	events, err := f.Events(f.ctx, threadID, 0, 1<<20)
	require.NoError(f.t, err)
	for i, e := range events {
		require.Equal(f.t, int64(i+1), e.Seq)
		require.Equal(f.t, threadID, e.Thread)
	}
	require.Equal(f.t, events, f.rec.of(threadID), "announced events")
	last, err := f.LastSeq(f.ctx, threadID)
	require.NoError(f.t, err)
	require.Equal(f.t, int64(len(events)), last)
	return events
}

// types are the types of events, joined.
func types(events []Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Type
	}
	return strings.Join(names, " ")
}

func texts(rows []Row) []string {
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.Message.Content.String()
	}
	return list
}

// viewTexts are the texts that a client sees now.
func (f *fixture) viewTexts(threadID string) []string {
	f.t.Helper()
	v, err := f.View(f.ctx, threadID, ViewOptions{})
	require.NoError(f.t, err)
	return texts(v.Rows)
}

// count is how many rows a table has.
func (f *fixture) count(table string) int {
	f.t.Helper()
	var n int
	require.NoError(f.t, f.read(f.ctx, func(ctx context.Context, q querier) error {
		return get(f.ctx, q, `SELECT COUNT(*) FROM `+table, nil, &n)
	}))
	return n
}
