package devserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

// holdLockEnv makes the test binary a process that takes the lock of the directory it names, and waits.
const holdLockEnv = "DEVSERVER_TEST_HOLD_LOCK"

// shared runs for all tests that only look at a server.
var shared *Server

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if dir := os.Getenv(holdLockEnv); dir != "" {
		return holdLock(dir)
	}
	dir, err := os.MkdirTemp("", "devserver")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	shared, err = Start(context.Background(), Options{DataDir: dir, SearchAttributes: testAttributes(), Logger: testLogger()})
	if err != nil {
		return fail(err)
	}
	fmt.Printf("start to ready: %s\n", time.Since(began).Round(time.Millisecond))
	code := m.Run()
	began = time.Now()
	shared.Stop()
	fmt.Printf("stop: %s\n", time.Since(began).Round(time.Millisecond))
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func holdLock(dir string) int {
	lock, err := lockDir(dir)
	if err != nil {
		return fail(err)
	}
	fmt.Println("locked")
	// The parent kills this process, or goes away and closes the pipe.
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	return fail(lock.release())
}

func testAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		"TestStatus": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"TestTokens": enumspb.INDEXED_VALUE_TYPE_INT,
	}
}

// testLogger shows what a user would see: warnings and errors.
func testLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func startServer(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Logger == nil {
		o.Logger = testLogger()
	}
	s, err := Start(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// stopFully also waits for what Stop leaves behind on a busy machine, so that the directory can be used again.
func stopFully(tb testing.TB, s *Server) {
	tb.Helper()
	s.Stop()
	select {
	case <-s.stopped:
	case <-time.After(time.Minute):
		require.FailNow(tb, "the server does not stop")
	}
}

func dial(tb testing.TB, s *Server) client.Client {
	tb.Helper()
	c, err := client.Dial(client.Options{
		HostPort:  s.FrontendAddress(),
		Namespace: s.Namespace(),
		Logger:    sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

func startWorker(tb testing.TB, c client.Client, queue string, register func(worker.Registry)) worker.Worker {
	tb.Helper()
	w := worker.New(c, queue, worker.Options{})
	register(w)
	require.NoError(tb, w.Start())
	tb.Cleanup(w.Stop)
	return w
}
