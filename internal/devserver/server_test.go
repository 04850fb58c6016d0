package devserver

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/common/headers"
)

func TestStartMakesTheFiles(t *testing.T) {
	t.Parallel()
	dir := shared.options.DataDir
	m, err := readMeta(dir)
	require.NoError(t, err)
	require.Equal(t, headers.ServerVersion, m.ServerVersion)
	require.EqualValues(t, historyShards, m.HistoryShards)
	require.Empty(t, shared.MovedAside())
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.json", "temporal.lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s can be read by others: %s", name, info.Mode())
	}
}

func TestStartListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{shared.FrontendAddress(), shared.UIAddress()} {
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", host)
		require.NotEqual(t, "0", port)
	}
}

func TestRetentionOfNewNamespace(t *testing.T) {
	t.Parallel()
	require.Equal(t, 30*24*time.Hour, retention(t, dial(t, shared), shared.Namespace()))
}

func retention(tb testing.TB, c client.Client, namespace string) time.Duration {
	tb.Helper()
	ns, err := c.WorkflowService().DescribeNamespace(tb.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(tb, err)
	return ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
}

// The path holds all that means something in the URI by which SQLite opens a file.
func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%41?c#d")
	first := startServer(t, Options{DataDir: dir, UIPort: NoUI})
	require.Empty(t, first.UIAddress())
	c := dial(t, first)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "thread/1", TaskQueue: "later"}, "Echo", "hello")
	require.NoError(t, err)
	c.Close()
	stopFully(t, first)
	require.FileExists(t, filepath.Join(dir, databaseFile))
	wal, err := os.Stat(filepath.Join(dir, databaseFile+"-wal"))
	require.NoError(t, err)
	require.Zero(t, wal.Size(), "a stopped server leaves all in one file")

	second := startServer(t, Options{DataDir: dir, UIPort: NoUI, Retention: 72 * time.Hour, Synchronous: "full"})
	require.Empty(t, second.MovedAside())
	require.Equal(t, first.db.meta, second.db.meta)
	c = dial(t, second)
	require.Equal(t, 72*time.Hour, retention(t, c, second.Namespace()))
	startWorker(t, c, "later", func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(func(_ workflow.Context, s string) (string, error) { return s, nil },
			workflow.RegisterOptions{Name: "Echo"})
	})
	var got string
	require.NoError(t, c.GetWorkflow(t.Context(), "thread/1", run.GetRunID()).Get(t.Context(), &got))
	require.Equal(t, "hello", got)
}

// The old file must stay what it was although a new server runs on the same path, in the same process.
func TestRestartWithOtherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{DataDir: dir, UIPort: NoUI}
	first := startServer(t, o)
	c := dial(t, first)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "old", TaskQueue: "none"}, "None")
	require.NoError(t, err)
	c.Close()
	stopFully(t, first)
	old := first.db.meta
	old.ServerVersion = "1.31.0"
	require.NoError(t, old.write(dir))
	before, err := os.ReadFile(filepath.Join(dir, databaseFile))
	require.NoError(t, err)

	second := startServer(t, o)
	require.Contains(t, filepath.Base(second.MovedAside()), "temporal.db.1.31.0.")
	require.NotEqual(t, old.ClusterID, second.db.meta.ClusterID)
	c = dial(t, second)
	_, err = c.DescribeWorkflowExecution(t.Context(), "old", "")
	require.ErrorContains(t, err, "not found")
	c.Close()
	stopFully(t, second)
	after, err := os.ReadFile(second.MovedAside())
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the moved database was written to")
}

func TestSecondStartIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{DataDir: shared.options.DataDir, Logger: testLogger()})
	require.ErrorIs(t, err, ErrLocked)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, LockedError{Dir: shared.options.DataDir, PID: os.Getpid()}, *locked)
}

func TestRequestedPortIsTaken(t *testing.T) {
	t.Parallel()
	l, err := listenLoopback(t.Context(), 0, "the test")
	require.NoError(t, err)
	defer l.Close()
	taken := portOf(l)
	tests := map[string]Options{
		"the Temporal frontend": {Port: taken},
		"the Temporal Web UI":   {UIPort: taken},
	}
	for what, o := range tests {
		t.Run(what, func(t *testing.T) {
			o.DataDir, o.Logger = t.TempDir(), testLogger()
			_, err := Start(t.Context(), o)
			var port *PortError
			require.ErrorAs(t, err, &port)
			require.Equal(t, taken, port.Port)
			require.Equal(t, what, port.What)
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			require.ErrorContains(t, err, "already in use")

			files, err := os.ReadDir(o.DataDir)
			require.NoError(t, err)
			require.Len(t, files, 1, "only the lock file was made")
			lock, err := lockDir(o.DataDir)
			require.NoError(t, err, "the directory was given back")
			require.NoError(t, lock.release())
		})
	}
}

// Between finding a port and the server's listening on it, somebody else may take it.
func TestLostPortIsReplaced(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1, 3} {
		l, err := listenLoopback(t.Context(), 0, "the test")
		require.NoError(t, err)
		defer l.Close()
		calls := 0
		s, err := start(t.Context(), Options{DataDir: t.TempDir(), UIPort: NoUI, Logger: testLogger()},
			func(ctx context.Context, n int) ([]int, error) {
				ports, err := freePorts(ctx, n)
				if calls++; calls == 1 {
					ports[lost] = portOf(l)
				}
				return ports, err
			})
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		require.Equal(t, 2, calls)
		require.NotEqual(t, l.Addr().String(), s.FrontendAddress())
	}
}

func TestLostPortWithRequestedFrontend(t *testing.T) {
	t.Parallel()
	requested, err := freePorts(t.Context(), 1)
	require.NoError(t, err)
	o := Options{DataDir: t.TempDir(), Port: requested[0], UIPort: NoUI, Logger: quietLogger()}
	calls := 0
	_, err = start(t.Context(), o, func(ctx context.Context, n int) ([]int, error) {
		// The port was free when it was checked, but is not any more.
		calls++
		l, err := listenLoopback(ctx, requested[0], "the test")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return freePorts(ctx, n)
	})
	var port *PortError
	require.ErrorAs(t, err, &port)
	require.Equal(t, requested[0], port.Port)
	require.Equal(t, 1, calls, "another try cannot help")
}

func TestStopIsBoundedWhileWorkersPoll(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{DataDir: t.TempDir()})
	c := dial(t, s)
	startWorker(t, c, "polled", func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "None"})
	})
	began := time.Now()
	s.Stop()
	require.Less(t, time.Since(began), 5*time.Second)
	s.Stop()
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := Start(ctx, Options{DataDir: dir, Logger: testLogger()})
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(dir, databaseFile))
	lock, err := lockDir(dir)
	require.NoError(t, err)
	require.NoError(t, lock.release())
}

func TestDamagedDatabaseIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, newMeta().write(dir))
	path := filepath.Join(dir, databaseFile)
	require.NoError(t, os.WriteFile(path, []byte("this is no database, whatever its meta says"), 0o600))
	_, err := Start(t.Context(), Options{DataDir: dir, Logger: testLogger()})
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "move it away")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "this is no database, whatever its meta says", string(b))
}
