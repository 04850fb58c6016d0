package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"deerflow/internal/store/pgtest"
	"deerflow/internal/testkit"
)

// postgres is the server that all tests of the split shape share.
var postgres pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// system is the product in one of its shapes: as one process on SQLite, or as
// API and worker on Postgres with Temporal beside them.
type system struct {
	t     *testing.T
	dev   *testkit.Process
	split *testkit.Split
}

// inBothShapes runs a test once for each shape. start may be called once.
func inBothShapes(t *testing.T, test func(t *testing.T, start func(config string) *system)) {
	t.Helper()
	t.Run("one process on SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, func(config string) *system {
			return &system{t: t, dev: testkit.StartDev(t, testkit.DevOptions{Config: config})}
		})
	})
	t.Run("api and worker on Postgres", func(t *testing.T) {
		t.Parallel()
		url := postgres.Database(t)
		test(t, func(config string) *system {
			return &system{t: t, split: testkit.StartSplit(t, testkit.SplitOptions{DatabaseURL: url, Config: config})}
		})
	})
}

// restarted starts the product again at the same address, on the same data.
func restarted(p *testkit.Process) *testkit.Process {
	return p.Restart(func(o *testkit.DevOptions) { o.Listen = p.Addr() })
}

func (p *system) API() *testkit.API {
	if p.split != nil {
		return p.split.API(0)
	}
	return p.dev.API()
}

// URL is the address of the API.
func (p *system) URL() string {
	if p.split != nil {
		return "http://" + p.split.APIs[0].Addr
	}
	return p.dev.URL
}

// Temporal is the host:port of its frontend.
func (p *system) Temporal() string {
	if p.split != nil {
		return p.split.Temporal.Addr
	}
	return p.dev.Temporal
}

func (p *system) DataDir() string {
	if p.split != nil {
		return p.split.DataDir
	}
	return p.dev.DataDir
}

// Kill9 kills all processes of the product at once; what others run, lives on.
func (p *system) Kill9() {
	if p.split != nil {
		p.split.Kill9()
		return
	}
	p.dev.Kill9()
}

// Stop asks all processes of the product to stop.
func (p *system) Stop() (exitCode int, took time.Duration) {
	if p.split != nil {
		return p.split.Stop()
	}
	return p.dev.Stop()
}

// Restart starts the product again at the same address, on the same data.
func (p *system) Restart() {
	p.t.Helper()
	if p.split != nil {
		p.split.Restart()
		return
	}
	p.dev = restarted(p.dev)
}

// Output is what all processes of the product have printed since their start.
func (p *system) Output() string {
	if p.split == nil {
		return p.dev.Output()
	}
	var text strings.Builder
	for _, part := range append(p.split.Workers, p.split.APIs...) {
		text.WriteString(part.Output())
	}
	return text.String()
}
