package docker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
)

// engine speaks the part of the Docker API that the runner needs. Its containers are
// records; what is run in them runs on this host, in the directory that is mounted.
type engine struct {
	t      *testing.T
	server *httptest.Server

	mu         sync.Mutex
	images     map[string]bool
	containers map[string]*box // by id
	execs      map[string]*process
	made       int
	pulled     []string
	away       bool // answers nothing but 500
	noStart    bool // containers do not start
}

type box struct {
	id, name string
	config   container.Config
	host     container.HostConfig
	running  bool
}

type process struct {
	box     *box
	request container.ExecCreateRequest
	cmd     *exec.Cmd
	started bool
	ended   bool
	code    int
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{
		t: t, images: map[string]bool{DefaultImage: true}, containers: map[string]*box{}, execs: map[string]*process{},
	}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"/_ping":                            func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.51") },
		"GET /v1.51/containers/json":        e.list,
		"POST /v1.51/containers/create":     e.create,
		"GET /v1.51/containers/{id}/json":   e.inspect,
		"POST /v1.51/containers/{id}/start": e.start,
		"POST /v1.51/containers/{id}/stop":  e.stop,
		"DELETE /v1.51/containers/{id}":     e.remove,
		"POST /v1.51/containers/{id}/exec":  e.createExec,
		"POST /v1.51/exec/{id}/start":       e.startExec,
		"GET /v1.51/exec/{id}/json":         e.inspectExec,
		"POST /v1.51/images/create":         e.pull,
	} {
		mux.HandleFunc(pattern, handle)
	}
	e.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		away := e.away
		e.mu.Unlock()
		if away {
			fail(w, http.StatusInternalServerError, "the engine is broken")
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		e.server.CloseClientConnections()
		e.server.Close()
	})
	return e
}

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"message": text})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// container finds one by id or name.
func (e *engine) container(key string) *box {
	for _, b := range e.containers {
		if b.id == key || b.name == key {
			return b
		}
	}
	return nil
}

func (e *engine) list(w http.ResponseWriter, r *http.Request) {
	var filters struct{ Label map[string]bool }
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []container.Summary{}
	for _, b := range e.containers {
		for label := range filters.Label {
			key, value, _ := strings.Cut(label, "=")
			if b.config.Labels[key] == value {
				list = append(list, container.Summary{ID: b.id, Names: []string{"/" + b.name}, State: state(b)})
			}
		}
	}
	reply(w, http.StatusOK, list)
}

func state(b *box) container.ContainerState {
	if b.running {
		return container.StateRunning
	}
	return container.StateExited
}

func (e *engine) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		container.Config
		HostConfig container.HostConfig
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.URL.Query().Get("name")
	switch {
	case !e.images[in.Image]:
		fail(w, http.StatusNotFound, "No such image: "+in.Image)
	case e.container(name) != nil:
		fail(w, http.StatusConflict, "the name is in use")
	default:
		e.made++
		b := &box{id: fmt.Sprintf("c%d", e.made), name: name, config: in.Config, host: in.HostConfig}
		e.containers[b.id] = b
		reply(w, http.StatusCreated, container.CreateResponse{ID: b.id})
	}
}

// with finds the container of a request.
func (e *engine) with(w http.ResponseWriter, r *http.Request, do func(b *box)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.container(r.PathValue("id"))
	if b == nil {
		fail(w, http.StatusNotFound, "No such container")
		return
	}
	do(b)
}

func (e *engine) inspect(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(b *box) {
		var ids []string
		for id, p := range e.execs {
			if p.box == b && p.started && !p.ended {
				ids = append(ids, id)
			}
		}
		reply(w, http.StatusOK, container.InspectResponse{
			ID: b.id, Name: "/" + b.name, Config: &b.config, State: &container.State{Running: b.running, Status: state(b)}, ExecIDs: ids,
		})
	})
}

func (e *engine) start(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(b *box) {
		if e.noStart {
			fail(w, http.StatusInternalServerError, "no cgroup")
			return
		}
		b.running = true
		w.WriteHeader(http.StatusNoContent)
	})
}

func (e *engine) stop(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(b *box) {
		b.running = false
		w.WriteHeader(http.StatusNoContent)
	})
}

func (e *engine) remove(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(b *box) {
		e.drop(b)
		w.WriteHeader(http.StatusNoContent)
	})
}

// drop removes a container with its processes. It is called with the lock.
func (e *engine) drop(b *box) {
	delete(e.containers, b.id)
	for id, p := range e.execs {
		if p.box == b {
			if p.cmd != nil && p.cmd.Process != nil && !p.ended {
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			}
			delete(e.execs, id)
		}
	}
}

func (e *engine) createExec(w http.ResponseWriter, r *http.Request) {
	var in container.ExecCreateRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.with(w, r, func(b *box) {
		if !b.running {
			fail(w, http.StatusConflict, "the container is not running")
			return
		}
		id := fmt.Sprintf("x%d", len(e.execs)+1)
		e.execs[id] = &process{box: b, request: in}
		reply(w, http.StatusCreated, container.ExecCreateResponse{ID: id})
	})
}

// startExec starts a process, and streams its output if it is attached.
func (e *engine) startExec(w http.ResponseWriter, r *http.Request) {
	var in container.ExecStartRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	e.mu.Lock()
	p := e.execs[r.PathValue("id")]
	if p == nil {
		e.mu.Unlock()
		fail(w, http.StatusNotFound, "No such exec instance")
		return
	}
	p.cmd = exec.Command(p.request.Cmd[0], p.request.Cmd[1:]...)
	p.cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, append(p.box.config.Env, p.request.Env...)...)
	p.cmd.Dir = p.box.host.Mounts[0].Source
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.started = true
	var outs [2]io.ReadCloser
	if !in.Detach {
		outs[0], _ = p.cmd.StdoutPipe()
		outs[1], _ = p.cmd.StderrPipe()
	}
	err := p.cmd.Start()
	e.mu.Unlock()
	if err != nil {
		e.t.Error(err)
		return
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		state, _ := p.cmd.Process.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		p.ended, p.code = true, state.ExitCode()
		if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
			p.code = 128 + int(status.Signal())
		}
	}()
	if in.Detach {
		w.WriteHeader(http.StatusOK)
		return
	}
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		e.t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = buf.WriteString("HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	_ = buf.Flush()
	var group sync.WaitGroup
	var writing sync.Mutex
	for i, out := range outs {
		group.Go(func() {
			b := make([]byte, 4096)
			for {
				n, err := out.Read(b)
				if n > 0 {
					head := make([]byte, 8)
					head[0] = byte(i + 1)
					binary.BigEndian.PutUint32(head[4:], uint32(n))
					writing.Lock()
					_, _ = conn.Write(append(head, b[:n]...))
					writing.Unlock()
				}
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	<-over
}

func (e *engine) inspectExec(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.execs[r.PathValue("id")]
	if p == nil {
		fail(w, http.StatusNotFound, "No such exec instance")
		return
	}
	out := container.ExecInspectResponse{ID: r.PathValue("id"), ContainerID: p.box.id, Running: p.started && !p.ended}
	if p.ended {
		out.ExitCode = &p.code
	}
	reply(w, http.StatusOK, out)
}

func (e *engine) pull(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pulled = append(e.pulled, name)
	if strings.Contains(name, "missing") {
		_, _ = io.WriteString(w, `{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}`+"\n")
		return
	}
	e.images[strings.TrimPrefix(name, "docker.io/library/")] = true
	_, _ = io.WriteString(w, `{"status":"Pulling"}`+"\n"+`{"status":"Done"}`+"\n")
}

// lose removes all containers, as a person or a reboot does.
func (e *engine) lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range e.containers {
		e.drop(b)
	}
}

func (e *engine) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost("tcp://" + e.server.Listener.Addr().String()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// provider makes a provider whose commands run in containers of the engine.
func (e *engine) provider(t *testing.T, o Options) *sandbox.Local {
	t.Helper()
	if o.Data == "" {
		o.Data = t.TempDir()
	}
	o.Client, o.Logger = e.client(t), slog.New(slog.DiscardHandler)
	r, err := New(t.Context(), o)
	require.NoError(t, err)
	p, err := sandbox.NewLocal(sandbox.LocalOptions{Root: o.Data, Runner: r, BashTimeout: time.Minute, Logger: o.Logger})
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
