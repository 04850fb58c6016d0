package testkit

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Machine speaks the API of the all-in-one sandbox image. Its commands run on this
// host, in a directory that stands for the root of the machine. The fields after mu
// are read and changed within [Machine.Set].
type Machine struct {
	t      testing.TB
	Dir    string
	server *httptest.Server

	mu        sync.Mutex
	Calls     []string // method and path
	Bodies    []string // of commands
	Running   map[string]*exec.Cmd
	Sessions  map[string]bool
	NoBash    bool   // an old image
	Forgetful bool   // has forgotten its sessions
	Corrupt   int    // so many commands find a shell out of step
	Reply     string // of all calls, instead of an answer
	Status    int    // of all calls; 0 is an answer
	Key       string // that callers need; empty: none
	Cut       int    // so many answers to commands with an environment are lost on their way

	stopped bool
}

// NewMachine starts a machine, which ends with the test.
func NewMachine(t testing.TB) *Machine {
	t.Helper()
	b := &Machine{t: t, Dir: t.TempDir(), Running: map[string]*exec.Cmd{}, Sessions: map[string]bool{}}
	b.Wipe()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sandbox", func(w http.ResponseWriter, _ *http.Request) {
		answerMachine(w, map[string]string{"home_dir": filepath.Join(b.Dir, "home"), "version": "1.11.0"})
	})
	mux.HandleFunc("POST /v1/shell/exec", b.shell)
	mux.HandleFunc("POST /v1/bash/exec", b.bash)
	mux.HandleFunc("POST /v1/shell/sessions/create", b.createSession)
	mux.HandleFunc("DELETE /v1/shell/sessions/{id}", b.deleteSession)
	mux.HandleFunc("POST /v1/file/write", b.write)
	mux.HandleFunc("GET /v1/file/download", b.download)
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.Calls = append(b.Calls, r.Method+" "+r.URL.Path)
		status, reply, key := b.Status, b.Reply, b.Key
		b.mu.Unlock()
		switch {
		case key != "" && r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case status != 0:
			w.WriteHeader(status)
		case reply != "" && r.URL.Path != "/v1/sandbox":
			_, _ = io.WriteString(w, reply)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(b.Stop)
	return b
}

// URL is where it answers.
func (b *Machine) URL() string { return b.server.URL }

// Stop ends the machine with its commands: connections are refused.
func (b *Machine) Stop() {
	b.Set(func() {
		b.stopped = true
		for _, cmd := range b.Running {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	b.server.CloseClientConnections()
	b.server.Close()
}

// Wipe makes the machine a new one, at the same address.
func (b *Machine) Wipe() {
	for _, dir := range []string{"home", "mnt", "tmp"} {
		err := errors.Join(os.RemoveAll(filepath.Join(b.Dir, dir)), os.MkdirAll(filepath.Join(b.Dir, dir), 0o755))
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// Set reads or changes the fields.
func (b *Machine) Set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// Commands are those that were asked for by a tool.
func (b *Machine) Commands() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, body := range b.Bodies {
		if strings.Contains(body, "/workspace; ") {
			list = append(list, body)
		}
	}
	return list
}

// Read gives a file below /mnt/user-data, or why it cannot be read.
func (b *Machine) Read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.Dir, "mnt/user-data", name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}
