package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// SplitOptions say how to start the product as separate processes.
type SplitOptions struct {
	// DatabaseURL is the address of an empty Postgres database.
	DatabaseURL string
	// Config is the text of a config.yaml.
	Config string
	// Workers and APIs are how many of each there are; 0 means one.
	Workers, APIs int
	// Namespace is the namespace that the parts name; empty means "default",
	// which is the one that Temporal has.
	Namespace string
	// NoPush is a Temporal that tells a cancelled activity with its next heartbeat
	// only, as a stock one does.
	NoPush bool
	// BinaryPath is the program of workers and APIs; empty means [Binary].
	BinaryPath string
	// Env has further environment entries of workers and APIs, "KEY=value".
	Env []string
	// Stopped leaves all parts to be started by the test.
	Stopped bool
}

// Split is the product as separate processes: workers and APIs that share a
// Postgres database, a data directory and a Temporal server.
type Split struct {
	Temporal *Part
	Workers  []*Part
	APIs     []*Part
	DataDir  string // shared by workers and APIs
}

// What parts print when they are ready.
const (
	temporalReady = "Temporal gRPC"
	workerReady   = "Worker  "
	apiReady      = "API  "
)

// temporald is the one build of the Temporal server in this test process.
var temporald = sync.OnceValues(func() (string, error) {
	return buildBinary(context.Background(), "deerflow/internal/testkit/temporald", "")
})

// StartSplit starts Temporal, workers and APIs on free ports, waits until every
// API is healthy, and kills them when the test ends. A failed start ends the
// test. It must be called from the goroutine of the test.
func StartSplit(t testing.TB, o SplitOptions) *Split {
	t.Helper()
	s, err := newSplit(t, o)
	if err != nil {
		t.Fatalf("prepare separate processes: %v", err)
	}
	if !o.Stopped {
		s.Temporal.Start()
		s.Restart()
	}
	return s
}

func newSplit(t testing.TB, o SplitOptions) (*Split, error) {
	t.Helper()
	server, err := temporald()
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	s := &Split{DataDir: filepath.Join(dir, "data")}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(o.Config), 0o600); err != nil {
		return nil, fmt.Errorf("write the config: %w", err)
	}
	s.Temporal = &Part{
		t: t, name: "Temporal", path: server, dir: dir, ready: temporalReady,
		args: func(addr string) []string {
			return []string{"-data-dir", filepath.Join(dir, "temporal"), "-port", portOf(addr), fmt.Sprintf("-no-push=%t", o.NoPush)}
		},
	}
	// The parts are told where Temporal is before it is there.
	if s.Temporal.Addr, err = quietAddress(t.Context()); err != nil {
		return nil, err
	}
	env := append([]string{
		"DEERFLOW_DATABASE_URL=" + o.DatabaseURL, "TEMPORAL_ADDRESS=" + s.Temporal.Addr, "TEMPORAL_NAMESPACE=" + o.Namespace,
	}, o.Env...)
	binary := o.BinaryPath
	if binary == "" {
		binary = Binary(t)
	}
	for n := range max(o.Workers, 1) {
		s.Workers = append(s.Workers, &Part{
			t: t, name: fmt.Sprintf("worker %d", n), path: binary, dir: dir, env: env, ready: workerReady,
			args: func(string) []string {
				return []string{"worker", "--config", config, "--data-dir", s.DataDir}
			},
		})
	}
	for n := range max(o.APIs, 1) {
		s.APIs = append(s.APIs, &Part{
			t: t, name: fmt.Sprintf("API %d", n), path: binary, dir: dir, env: env, ready: apiReady,
			args: func(addr string) []string {
				if addr == "" {
					addr = "127.0.0.1:0"
				}
				return []string{"api", "--config", config, "--data-dir", s.DataDir, "--listen", addr}
			},
		})
	}
	return s, nil
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// Kill9 kills every worker and every API, all at once. Temporal and Postgres
// live on.
func (s *Split) Kill9() { s.each((*Part).Kill9) }

// Stop asks every worker and every API to stop, all at once, and returns the
// highest exit code and the longest time.
func (s *Split) Stop() (exitCode int, took time.Duration) {
	var mu sync.Mutex
	s.each(func(p *Part) {
		code, time := p.Stop()
		mu.Lock()
		defer mu.Unlock()
		exitCode, took = max(exitCode, code), max(took, time)
	})
	return exitCode, took
}

func (s *Split) each(do func(p *Part)) {
	var wg sync.WaitGroup
	for _, parts := range [][]*Part{s.Workers, s.APIs} {
		for _, p := range parts {
			wg.Go(func() { do(p) })
		}
	}
	wg.Wait()
}

// Restart starts every worker and every API, where they were before, and waits
// until every API is healthy.
func (s *Split) Restart() {
	for _, parts := range [][]*Part{s.Workers, s.APIs} {
		for _, p := range parts {
			p.Launch()
		}
	}
	for _, parts := range [][]*Part{s.Workers, s.APIs} {
		for _, p := range parts {
			p.AwaitReady()
		}
	}
	for n := range s.APIs {
		s.AwaitHealthy(n)
	}
}

// AwaitHealthy waits until one of the APIs says that all parts answer.
func (s *Split) AwaitHealthy(n int) {
	p := s.APIs[n]
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), partStart)
	defer cancel()
	api := s.API(n)
	for {
		_, err := api.Do(ctx, "GET", "/health", nil, nil)
		if err == nil {
			return
		}
		var away *HTTPError
		if ctx.Err() != nil || !errors.As(err, &away) {
			p.t.Fatalf("%s did not become healthy: %v\n%s", p.name, err, tail(p.output))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// API returns a client of one of the APIs in the LangGraph dialect.
func (s *Split) API(n int) *API {
	p := s.APIs[n]
	a := NewAPI("http://" + p.Addr)
	p.t.Cleanup(a.Close)
	return a
}
