package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/stream"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

var _ Threads = (*threadclient.Client)(nil)

type ctxT = context.Context

// testTimeout bounds what a test waits for; it is never waited out.
const testTimeout = 90 * time.Second

// env is a server with a real store and threads that the test plays.
type env struct {
	t     *testing.T
	ctx   context.Context
	store *store.Store
	// closeStore may be called before the test ends.
	closeStore func() error
	hub        *stream.Hub
	threads    *fakeThreads
	server     *Server
	http       *httptest.Server
	dataDir    string
	root       *testkit.API // dialect of the platform
	df         *testkit.API // dialect of DeerFlow
}

// newEnv starts a server; change may alter its options.
func newEnv(t *testing.T, change ...func(*Options)) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	e := &env{t: t, ctx: ctx, hub: stream.New(), dataDir: t.TempDir()}
	var err error
	e.store, err = store.Open(ctx, store.Options{
		Path: filepath.Join(t.TempDir(), "deerflow.db"), Synchronous: "NORMAL", OnEvents: e.hub.Publish, Logger: quiet(),
	})
	require.NoError(t, err)
	e.closeStore = sync.OnceValue(e.store.Close)
	t.Cleanup(func() { require.NoError(t, e.closeStore()) })
	e.threads = &fakeThreads{}
	e.serve(change...)
	return e
}

// serve starts the HTTP server, again if need be.
func (e *env) serve(change ...func(*Options)) {
	e.t.Helper()
	o := Options{
		Store: e.store, Hub: e.hub, Threads: e.threads, Files: NewFiles(filepath.Join(e.dataDir, "users")), Logger: quiet(),
		Settings: func() Settings { return Settings{Models: []string{"demo", "big"}, DefaultModel: "demo"} }, Version: "1.2.3",
	}
	for _, f := range change {
		f(&o)
	}
	e.server = New(o)
	e.http = httptest.NewServer(e.server.Handler())
	e.root = testkit.NewAPI(e.http.URL)
	e.df = e.root.WithPrefix("/api")
	server, web, api := e.server, e.http, e.root
	e.t.Cleanup(func() {
		server.Close()
		web.Close()
		api.Close()
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fakeThreads takes requests for threads; the test plays what follows.
type fakeThreads struct {
	mu        sync.Mutex
	submitted []step.SubmitRun
	cancelled []step.CancelRun
	updated   []step.UpdateState
	stopped   []string

	// what the next calls answer
	submit func(threadID string, s step.SubmitRun) error
	cancel func(threadID string, r step.CancelRun) error
	update func(threadID string, u step.UpdateState) error
	// compact answers compactions.
	compact func(threadID string, k step.Compact) (step.CompactResult, error)
	stop    error
}

func (f *fakeThreads) Submit(_ context.Context, _, threadID string, s step.SubmitRun) (step.SubmitResult, error) {
	f.mu.Lock()
	f.submitted = append(f.submitted, s)
	do := f.submit
	f.mu.Unlock()
	if do != nil {
		return step.SubmitResult{RunID: s.RunID}, do(threadID, s)
	}
	return step.SubmitResult{RunID: s.RunID}, nil
}

func (f *fakeThreads) Cancel(_ context.Context, _, threadID, updateID string, r step.CancelRun) (step.CancelResult, error) {
	if updateID == "" {
		return step.CancelResult{}, errors.New("a cancel without an update id")
	}
	f.mu.Lock()
	f.cancelled = append(f.cancelled, r)
	do := f.cancel
	f.mu.Unlock()
	if do != nil {
		return step.CancelResult{RunID: r.RunID}, do(threadID, r)
	}
	return step.CancelResult{RunID: r.RunID}, nil
}

func (f *fakeThreads) UpdateState(_ context.Context, _, threadID string, u step.UpdateState) (step.UpdateStateResult, error) {
	f.mu.Lock()
	f.updated = append(f.updated, u)
	do := f.update
	f.mu.Unlock()
	if do != nil {
		return step.UpdateStateResult{}, do(threadID, u)
	}
	return step.UpdateStateResult{}, nil
}

func (f *fakeThreads) Compact(_ context.Context, _, threadID string, k step.Compact) (step.CompactResult, error) {
	return f.compact(threadID, k)
}

func (f *fakeThreads) Stop(_ context.Context, threadID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		return f.stop
	}
	f.stopped = append(f.stopped, threadID)
	return nil
}

func (f *fakeThreads) submissions() []step.SubmitRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]step.SubmitRun(nil), f.submitted...)
}

func (f *fakeThreads) cancels() []step.CancelRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]step.CancelRun(nil), f.cancelled...)
}

func refused(kind string) error { return &threadclient.RefusedError{Type: kind, Reason: kind} }

func unavailableTemporal() error {
	return fmt.Errorf("%w: connection refused", threadclient.ErrUnavailable)
}

func noWorker() error { return fmt.Errorf("%w: deadline", threadclient.ErrNoWorker) }

// scenario is one request and what must and must not come back.
type scenario struct {
	name    string
	method  string
	path    string
	header  map[string]string
	body    string
	status  int
	want    []string // parts of the answer
	wantNot []string
	headers map[string]string
}

// check sends the request of a scenario.
func (e *env) check(t *testing.T, s scenario) {
	t.Helper()
	status, header, body := e.do(t, s.method, s.path, s.body, s.header)
	require.Equal(t, s.status, status, "%s %s: %s", s.method, s.path, body)
	for _, part := range s.want {
		require.Contains(t, body, part, "%s %s", s.method, s.path)
	}
	for _, part := range s.wantNot {
		require.NotContains(t, body, part, "%s %s", s.method, s.path)
	}
	for key, value := range s.headers {
		require.Equal(t, value, header.Get(key), "header %s of %s %s", key, s.method, s.path)
	}
}

// do sends one request and reads the answer.
func (e *env) do(t *testing.T, method, path, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(e.ctx, method, e.http.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for key, value := range header {
		if key == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(key, value)
	}
	res, err := e.http.Client().Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, string(data)
}

// fetch is do for goroutines that must not end the test.
func (e *env) fetch(method, path, body string, header http.Header) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(e.ctx, method, e.http.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header = header
	res, err := e.http.Client().Do(req)
	if err != nil {
		return nil, "", err
	}
	data, err := io.ReadAll(res.Body)
	return res, string(data), errors.Join(err, res.Body.Close())
}

// thread makes a thread.
func (e *env) thread(t *testing.T, id string) {
	t.Helper()
	_, err := e.store.CreateThread(e.ctx, store.NewThread{ID: id, User: defaultUser}, store.IfExistsRaise)
	require.NoError(t, err)
}

// say submits a message through the API and gives the run.
func (e *env) say(t *testing.T, threadID, text string) string {
	t.Helper()
	request := testkit.Say(text)
	request.IfNotExists = "create"
	run, err := e.root.CreateRun(e.ctx, threadID, request)
	require.NoError(t, err)
	require.Equal(t, string(thread.RunPending), run.Status)
	return run.RunID
}
