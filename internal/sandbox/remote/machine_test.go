package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
)

// box speaks the API of the all-in-one image. Its commands run on this host, in a
// directory that stands for the root of the machine.
type box struct {
	t      *testing.T
	dir    string
	server *httptest.Server

	mu       sync.Mutex
	calls    []string // method and path
	bodies   []string // of commands
	running  map[string]*exec.Cmd
	sessions map[string]bool
	noBash   bool   // an old image
	noShell  bool   // has forgotten its sessions
	corrupt  int    // so many commands find a shell out of step
	reply    string // of all calls, instead of an answer
	status   int    // of all calls; 0 is an answer
	key      string
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir(), running: map[string]*exec.Cmd{}, sessions: map[string]bool{}}
	b.wipe()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sandbox", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"home_dir": filepath.Join(b.dir, "home"), "version": "1.11.0"})
	})
	mux.HandleFunc("POST /v1/shell/exec", b.shell)
	mux.HandleFunc("POST /v1/bash/exec", b.bash)
	mux.HandleFunc("POST /v1/shell/sessions/create", b.createSession)
	mux.HandleFunc("DELETE /v1/shell/sessions/{id}", b.deleteSession)
	mux.HandleFunc("POST /v1/file/write", b.write)
	mux.HandleFunc("GET /v1/file/download", b.download)
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.calls = append(b.calls, r.Method+" "+r.URL.Path)
		status, reply, key := b.status, b.reply, b.key
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
	t.Cleanup(b.stop)
	return b
}

func (b *box) stop() {
	b.server.CloseClientConnections()
	b.server.Close()
}

// wipe makes the machine a new one.
func (b *box) wipe() {
	for _, dir := range []string{"home", "mnt", "tmp"} {
		require.NoError(b.t, os.RemoveAll(filepath.Join(b.dir, dir)))
		require.NoError(b.t, os.MkdirAll(filepath.Join(b.dir, dir), 0o755))
	}
}

func (b *box) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// inside puts the directory before the paths of the machine.
func (b *box) inside(text string) string {
	if strings.Contains(text, b.dir) { // a shared machine has named its home
		return strings.ReplaceAll(text, "/tmp/.deerflow-", b.dir+"/tmp/.deerflow-")
	}
	text = strings.ReplaceAll(text, "/mnt/user-data", b.dir+"/mnt/user-data")
	return strings.ReplaceAll(text, "/tmp/.deerflow-", b.dir+"/tmp/.deerflow-")
}

func answer(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "message": "", "data": data})
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "message": message, "data": nil})
}

// start runs a command and gives its output.
func (b *box) start(session, line string, env map[string]string, split bool, limit time.Duration) (string, string, int, bool) {
	cmd := exec.Command("bash", "-c", b.inside(line))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if !split {
		cmd.Stderr = &stdout
	}
	cmd.WaitDelay = 200 * time.Millisecond
	if err := cmd.Start(); err != nil {
		b.t.Error(err)
		return "", "", -1, false
	}
	b.set(func() { b.running[session] = cmd })
	late := make(chan struct{})
	clock := time.AfterFunc(limit, func() {
		close(late)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	_ = cmd.Wait()
	b.set(func() { delete(b.running, session) })
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !clock.Stop()
}

func (b *box) shell(w http.ResponseWriter, r *http.Request) {
	var in shellRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	var corrupt, unknown bool
	b.set(func() {
		b.bodies = append(b.bodies, in.Command)
		if b.corrupt > 0 {
			b.corrupt--
			corrupt = true
		}
		unknown = b.noShell && !b.sessions[in.ID]
	})
	if unknown {
		refuse(w, http.StatusNotFound, "Session not found: "+in.ID)
		return
	}
	if corrupt {
		answer(w, map[string]any{"session_id": in.ID, "output": "'ErrorObservation' object has no attribute 'exit_code'", "status": "completed"})
		return
	}
	out, _, code, late := b.start(in.ID, in.Command, nil, false, time.Duration(in.NoChange)*time.Second)
	data := map[string]any{"session_id": in.ID, "output": out, "exit_code": code, "status": "completed"}
	if late {
		data["status"], data["exit_code"] = "no_change_timeout", nil
	}
	answer(w, data)
}

func (b *box) bash(w http.ResponseWriter, r *http.Request) {
	if b.noBash {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
		return
	}
	var in bashRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	b.set(func() { b.bodies = append(b.bodies, in.Command) })
	out, errs, code, late := b.start(r.RemoteAddr, in.Command, in.Env, true, time.Duration(in.Timeout)*time.Second)
	data := map[string]any{"stdout": out, "stderr": errs, "exit_code": code}
	if late {
		data["status"], data["exit_code"] = "hard_timeout", nil
	}
	answer(w, data)
}

func (b *box) createSession(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	b.set(func() { b.sessions[in.ID] = true })
	answer(w, map[string]string{"session_id": in.ID})
}

func (b *box) deleteSession(w http.ResponseWriter, r *http.Request) {
	b.set(func() {
		delete(b.sessions, r.PathValue("id"))
		if cmd := b.running[r.PathValue("id")]; cmd != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
		}
	})
	answer(w, nil)
}

func (b *box) write(w http.ResponseWriter, r *http.Request) {
	var in struct {
		File, Content, Encoding string
		Append                  bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		data, _ = base64.StdEncoding.DecodeString(in.Content)
	}
	if err := os.WriteFile(b.inside(in.File), data, 0o644); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, nil)
}

func (b *box) download(w http.ResponseWriter, r *http.Request) {
	http.ServeFile(w, r, b.inside(r.URL.Query().Get("path")))
}

// commands are those that were asked for by a tool.
func (b *box) commands() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, body := range b.bodies {
		if strings.Contains(body, "/workspace; ") {
			list = append(list, body)
		}
	}
	return list
}

func (b *box) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, "mnt/user-data", name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// provider makes a provider over a fixed machine, or a provisioner.
func provider(t *testing.T, o Options, root string) *Provider {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	o.Poll = 10 * time.Millisecond
	if o.Ready == 0 {
		o.Ready = 20 * time.Second
	}
	p, err := New(o, sandbox.LocalOptions{Root: root, BashTimeout: time.Minute, Logger: o.Logger})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func acquire(t *testing.T, p sandbox.Provider, thread string) sandbox.Sandbox {
	t.Helper()
	b, err := p.Acquire(t.Context(), "u", thread)
	require.NoError(t, err)
	return b
}

func run(t *testing.T, b sandbox.Sandbox, line string) sandbox.ExecResult {
	t.Helper()
	r, err := b.Exec(t.Context(), sandbox.Command{Line: line})
	require.NoError(t, err)
	return r
}

func write(t *testing.T, b sandbox.Sandbox, name, text string) {
	t.Helper()
	_, err := b.WriteFile(t.Context(), name, strings.NewReader(text), sandbox.WriteOptions{})
	require.NoError(t, err)
}

func read(t *testing.T, b sandbox.Sandbox, name string) string {
	t.Helper()
	f, _, err := b.Open(t.Context(), name)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(data)
}

// cluster is a provisioner.
type cluster struct {
	server *httptest.Server

	mu      sync.Mutex
	current *box
	creates []createRequest
	deletes []string
	status  int
	reply   string
}

func newCluster(t *testing.T, first *box) *cluster {
	t.Helper()
	c := &cluster{current: first}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case r.Header.Get("X-Api-Key") != "pk":
			w.WriteHeader(http.StatusUnauthorized)
		case c.status != 0:
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		case r.Method == http.MethodPost:
			var in createRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			c.creates = append(c.creates, in)
			_ = json.NewEncoder(w).Encode(map[string]string{"sandbox_id": in.ID, "sandbox_url": c.current.server.URL + "/", "status": "Running"})
		default:
			c.deletes = append(c.deletes, r.Method+" "+r.URL.Path)
			if len(c.deletes) > 1 {
				w.WriteHeader(http.StatusNotFound)
			}
		}
	}))
	t.Cleanup(c.server.Close)
	return c
}

func (c *cluster) options() Options {
	return Options{ProvisionerURL: c.server.URL, ProvisionerKey: "pk"}
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

func asRefused(err error, to **sandbox.CommandError) bool { return errors.As(err, to) }
