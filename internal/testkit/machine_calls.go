package testkit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// inside puts the directory before the paths of the machine.
func (b *Machine) inside(text string) string {
	if strings.Contains(text, b.Dir) { // a shared machine has named its home
		return strings.ReplaceAll(text, "/tmp/.deerflow-", b.Dir+"/tmp/.deerflow-")
	}
	text = strings.ReplaceAll(text, "/mnt/user-data", b.Dir+"/mnt/user-data")
	return strings.ReplaceAll(text, "/tmp/.deerflow-", b.Dir+"/tmp/.deerflow-")
}

func answerMachine(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "message": "", "data": data})
}

func refuseMachine(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "message": message, "data": nil})
}

// start runs a command and gives its output.
func (b *Machine) start(session, line string, env map[string]string, split bool, limit time.Duration) (string, string, int, bool) {
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
	b.Set(func() {
		b.Running[session] = cmd
		if b.stopped {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	late := make(chan struct{})
	clock := time.AfterFunc(limit, func() {
		close(late)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	_ = cmd.Wait()
	b.Set(func() { delete(b.Running, session) })
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !clock.Stop()
}

func (b *Machine) shell(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Command  string `json:"command"`
		ID       string `json:"id"`
		NoChange int    `json:"no_change_timeout"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	var corrupt, unknown bool
	b.Set(func() {
		b.Bodies = append(b.Bodies, in.Command)
		if b.Corrupt > 0 {
			b.Corrupt--
			corrupt = true
		}
		unknown = b.Forgetful && !b.Sessions[in.ID]
	})
	if unknown {
		refuseMachine(w, http.StatusNotFound, "Session not found: "+in.ID)
		return
	}
	if corrupt {
		answerMachine(w, map[string]any{"session_id": in.ID, "output": "'ErrorObservation' object has no attribute 'exit_code'", "status": "completed"})
		return
	}
	out, _, code, late := b.start(in.ID, in.Command, nil, false, time.Duration(in.NoChange)*time.Second)
	data := map[string]any{"session_id": in.ID, "output": out, "exit_code": code, "status": "completed"}
	if late {
		data["status"], data["exit_code"] = "no_change_timeout", nil
	}
	answerMachine(w, data)
}

func (b *Machine) bash(w http.ResponseWriter, r *http.Request) {
	var old, cut bool
	b.Set(func() {
		old = b.NoBash
		if cut = b.Cut > 0; cut {
			b.Cut--
		}
	})
	if old {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
		return
	}
	var in struct {
		Command string            `json:"command"`
		Env     map[string]string `json:"env"`
		Timeout int               `json:"hard_timeout"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	b.Set(func() { b.Bodies = append(b.Bodies, in.Command) })
	out, errs, code, late := b.start(r.RemoteAddr, in.Command, in.Env, true, time.Duration(in.Timeout)*time.Second)
	if cut {
		panic(http.ErrAbortHandler)
	}
	data := map[string]any{"stdout": out, "stderr": errs, "exit_code": code}
	if late {
		data["status"], data["exit_code"] = "hard_timeout", nil
	}
	answerMachine(w, data)
}

func (b *Machine) createSession(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	b.Set(func() { b.Sessions[in.ID] = true })
	answerMachine(w, map[string]string{"session_id": in.ID})
}

func (b *Machine) deleteSession(w http.ResponseWriter, r *http.Request) {
	b.Set(func() {
		delete(b.Sessions, r.PathValue("id"))
		if cmd := b.Running[r.PathValue("id")]; cmd != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
		}
	})
	answerMachine(w, nil)
}

func (b *Machine) write(w http.ResponseWriter, r *http.Request) {
	var in struct {
		File, Content, Encoding string
		Append                  bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuseMachine(w, http.StatusBadRequest, err.Error())
		return
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		data, _ = base64.StdEncoding.DecodeString(in.Content)
	}
	if err := os.WriteFile(b.inside(in.File), data, 0o644); err != nil {
		refuseMachine(w, http.StatusInternalServerError, err.Error())
		return
	}
	answerMachine(w, nil)
}

func (b *Machine) download(w http.ResponseWriter, r *http.Request) {
	http.ServeFile(w, r, b.inside(r.URL.Query().Get("path")))
}
