package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// DevOptions says how to start `deerflow dev`.
type DevOptions struct {
	// BinaryPath is the program; empty means [Binary].
	BinaryPath string
	// DataDir is the data directory; empty means a new temporary one.
	DataDir string
	// Config is the text of a config.yaml, ConfigPath a file; at most one of
	// them. With neither, no --config is given.
	Config     string
	ConfigPath string
	// Listen is the address of the API; empty means a free loopback port.
	Listen string
	// Env has further environment entries, "KEY=value". Of the environment of
	// the tests only the likes of PATH are passed on; HOME is Dir.
	Env []string
	// Args come after the arguments that the kit sets.
	Args []string
	// Dir is the working directory; empty means a new temporary one.
	Dir string
	// ReadyTimeout bounds the start; 0 means a minute.
	ReadyTimeout time.Duration
	// StopTimeout bounds Stop; 0 means half a minute.
	StopTimeout time.Duration
}

// Process is a running (or ended) `deerflow dev`. Its fields do not change;
// [Process.Restart] returns a new one.
type Process struct {
	URL        string        // of the API, no slash at the end
	Temporal   string        // host:port of Temporal's gRPC
	TemporalUI string        // URL of Temporal's web page
	DataDir    string        // the data directory
	ReadyIn    time.Duration // from start to healthy

	t       testing.TB
	options DevOptions
	child   *child
	begun   time.Time
	output  string // file that has what the process printed
}

// serverInfo is <data>/server.json.
type serverInfo struct {
	PID        int    `json:"pid"`
	URL        string `json:"url"`
	Temporal   string `json:"temporal"`
	TemporalUI string `json:"temporal_ui"`
}

// StartDev starts `deerflow dev` on free ports, waits until it is healthy and
// kills it when the test ends. A failed start ends the test. It must be called
// from the goroutine of the test.
func StartDev(t testing.TB, o DevOptions) *Process {
	t.Helper()
	p, err := launch(t, o)
	if err != nil {
		t.Fatalf("start deerflow dev: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.options.ReadyTimeout)
	defer cancel()
	if err := p.awaitReady(ctx); err != nil {
		p.child.kill()
		t.Fatalf("start deerflow dev: %v\noutput:\n%s", err, tail(p.output))
	}
	p.ReadyIn = time.Since(p.begun)
	return p
}

// withDefaults fills the gaps of o and makes its paths independent of Dir.
func (o DevOptions) withDefaults(t testing.TB) (DevOptions, error) {
	t.Helper()
	if o.BinaryPath == "" {
		o.BinaryPath = Binary(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.DataDir == "" {
		o.DataDir = filepath.Join(t.TempDir(), "data")
	}
	if o.Listen == "" {
		addr, err := quietAddress(t.Context())
		if err != nil {
			return o, err
		}
		o.Listen = addr
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = time.Minute
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = 30 * time.Second
	}
	for _, path := range []*string{&o.BinaryPath, &o.DataDir, &o.ConfigPath} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("resolve %s: %w", *path, err)
		}
		*path = absolute
	}
	return o, nil
}

// args returns the command line; a config given as text is written first.
func (o DevOptions) args(t testing.TB) ([]string, error) {
	t.Helper()
	args := []string{
		"dev",
		"--data-dir", o.DataDir,
		"--listen", o.Listen,
		"--temporal-port", "0",
		"--temporal-ui-port", "0",
	}
	switch {
	case o.Config != "" && o.ConfigPath != "":
		return nil, fmt.Errorf("both Config and ConfigPath (%s) are set", o.ConfigPath)
	case o.Config != "":
		o.ConfigPath = filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(o.ConfigPath, []byte(o.Config), 0o600); err != nil {
			return nil, fmt.Errorf("write the config: %w", err)
		}
	}
	if o.ConfigPath != "" {
		args = append(args, "--config", o.ConfigPath)
	}
	return append(args, o.Args...), nil
}

// launch starts the process and sees to its end.
func launch(t testing.TB, o DevOptions) (*Process, error) {
	t.Helper()
	o, err := o.withDefaults(t)
	if err != nil {
		return nil, err
	}
	args, err := o.args(t)
	if err != nil {
		return nil, err
	}
	output, err := os.CreateTemp(t.TempDir(), "output-*.log")
	if err != nil {
		return nil, fmt.Errorf("open the output file: %w", err)
	}
	// The process writes to the file itself: a grandchild that keeps the
	// descriptor cannot hold Wait up, as it could with a pipe.
	defer func() { _ = output.Close() }()
	cmd := exec.CommandContext(context.Background(), o.BinaryPath, args...)
	cmd.Dir, cmd.Env = o.Dir, childEnv(o.Dir, o.Env)
	cmd.Stdout, cmd.Stderr = output, output
	begun := time.Now()
	c, err := startChild(cmd)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", o.BinaryPath, err)
	}
	p := &Process{DataDir: o.DataDir, t: t, options: o, child: c, begun: begun, output: output.Name()}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("output of deerflow dev, pid %d:\n%s", p.Pid(), tail(p.output))
		}
	})
	return p, nil
}

// awaitReady waits until server.json is this process's and /health says 200.
func (p *Process) awaitReady(ctx context.Context) error {
	path := filepath.Join(p.DataDir, "server.json")
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	var reason error
	for {
		err := p.lookReady(ctx, client, path)
		if err == nil {
			return nil
		}
		if reason == nil || ctx.Err() == nil { // the last look, cut short, explains nothing
			reason = err
		}
		select {
		case <-poll.C:
		case <-p.child.done:
			return fmt.Errorf("it ended with exit code %d before it was ready", p.child.exitCode())
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v: %w", p.options.ReadyTimeout, reason)
		}
	}
}

// lookReady says why the process is not ready yet.
func (p *Process) lookReady(ctx context.Context, client *http.Client, path string) error {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	var info serverInfo
	if err := json.Unmarshal(data, &info); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if info.PID != p.Pid() {
		return fmt.Errorf("%s is of pid %d, not %d", path, info.PID, p.Pid())
	}
	p.URL, p.Temporal, p.TemporalUI = strings.TrimRight(info.URL, "/"), info.Temporal, info.TemporalUI
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/health", http.NoBody)
	if err != nil {
		return fmt.Errorf("url of %s: %w", path, err)
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	if err := res.Body.Close(); err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s/health says %s", p.URL, res.Status)
	}
	return nil
}

// Pid returns the process id.
func (p *Process) Pid() int {
	return p.child.cmd.Process.Pid
}

// Addr returns the host:port of the API, to listen there again after a restart.
func (p *Process) Addr() string {
	_, addr, _ := strings.Cut(p.URL, "://")
	return addr
}

// Output returns what the process has printed so far, both streams.
func (p *Process) Output() string {
	data, err := os.ReadFile(filepath.Clean(p.output))
	if err != nil {
		p.t.Errorf("read the output of deerflow dev: %v", err)
	}
	return string(data)
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} {
	return p.child.done
}

// Wait waits until the process ends by itself and returns its exit code, -1
// when a signal ended it.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.child.done:
		return p.child.exitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for deerflow dev, pid %d, to end: %w", p.Pid(), ctx.Err())
	}
}

// Kill9 sends SIGKILL to the process, and to nothing else, and waits until it
// is gone.
func (p *Process) Kill9() {
	p.child.kill()
}

// Stop sends SIGTERM and waits; it returns the exit code and how long the
// process took. One that is not gone within StopTimeout is killed and fails
// the test.
func (p *Process) Stop() (exitCode int, took time.Duration) {
	p.t.Helper()
	begin := time.Now()
	_ = p.child.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended already
	timer := time.NewTimer(p.options.StopTimeout)
	defer timer.Stop()
	select {
	case <-p.child.done:
	case <-timer.C:
		p.child.kill()
		p.t.Errorf("deerflow dev, pid %d, still ran %v after SIGTERM and was killed", p.Pid(), p.options.StopTimeout)
	}
	return p.child.exitCode(), time.Since(begin)
}

// Restart starts the program again on the same data directory, with the same
// options unless edit changes them, and returns the new process. One that
// still runs is stopped first. The ports are new ones; to keep the address of
// the API, set Listen to [Process.Addr].
func (p *Process) Restart(edit ...func(*DevOptions)) *Process {
	p.t.Helper()
	select {
	case <-p.child.done:
	default:
		p.Stop()
	}
	o := p.options
	for _, change := range edit {
		change(&o)
	}
	o.DataDir = p.DataDir
	return StartDev(p.t, o)
}

// API returns a client of the process in the LangGraph dialect.
func (p *Process) API() *API {
	a := NewAPI(p.URL)
	p.t.Cleanup(a.Close)
	return a
}
