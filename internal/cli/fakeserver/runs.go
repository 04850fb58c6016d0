package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"deerflow/internal/thread"
)

// next takes the next run of the script; nil when there is none.
func (s *Server) next(threadID string) *live {
	if len(s.started) >= len(s.Script) {
		return nil
	}
	n := len(s.started)
	run := &live{
		Run: s.Script[n], id: fmt.Sprintf("run-%d", n+1), thread: threadID, stopped: make(chan struct{}),
	}
	if run.Status == "" {
		run.Status = thread.RunSuccess
	}
	s.started = append(s.started, run)
	return run
}

// newest is the newest run of a thread, nil for none.
func (s *Server) newest(threadID string) *live {
	for i := len(s.started) - 1; i >= 0; i-- {
		if s.started[i].thread == threadID {
			return s.started[i]
		}
	}
	return nil
}

func (s *Server) find(runID string) *live {
	for _, run := range s.started {
		if run.id == runID {
			return run
		}
	}
	return nil
}

// start begins a run and streams it, begin only begins one.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	if run := s.take(w, r); run != nil {
		s.stream(w, r, run)
	}
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	if run := s.take(w, r); run != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		run.over = run.Hold == nil
		answer(w, s.shape(run))
	}
}

// take is the run that a request starts; nil when it was refused.
func (s *Server) take(w http.ResponseWriter, r *http.Request) *live {
	body, _ := io.ReadAll(r.Body)
	var asked struct {
		Create  string          `json:"if_not_exists"`
		Command json.RawMessage `json:"command"`
		Context struct {
			Model string `json:"model_name"`
		} `json:"context"`
	}
	_ = json.Unmarshal(body, &asked)
	threadID := r.PathValue("thread")
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	active := s.newest(threadID)
	known := active != nil || s.isKnown(threadID) || asked.Create == "create"
	var run *live
	if known && (active == nil || active.over) {
		run = s.next(threadID)
	}
	s.mu.Unlock()
	switch {
	case asked.Context.Model == "unknown":
		fail(w, http.StatusBadRequest, "Model 'unknown' is not in the configured model allowlist")
	case !known:
		fail(w, http.StatusNotFound, "Thread "+threadID+" not found")
	case active != nil && !active.over:
		failWith(w, http.StatusConflict, map[string]any{"detail": "Thread " + threadID + " already has an active run", "run_id": active.id})
	case run == nil:
		fail(w, http.StatusConflict, "Thread "+threadID+" is not waiting for an answer")
	default:
		return run
	}
	return nil
}

func (s *Server) isKnown(threadID string) bool {
	for _, id := range s.Known {
		if id == threadID {
			return true
		}
	}
	return false
}

func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	run := s.find(r.PathValue("run"))
	s.mu.Unlock()
	if run == nil {
		fail(w, http.StatusNotFound, "Run not found")
		return
	}
	s.stream(w, r, run)
}

// stream sends the events after the last one that the client has, numbered from 1.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, run *live) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Content-Location", "/threads/"+run.thread+"/runs/"+run.id)
	control := http.NewResponseController(w)
	after, _, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
	last, _ := strconv.Atoi(after)
	events := append([]string{fmt.Sprintf(`metadata {"run_id":%q,"thread_id":%q}`, run.id, run.thread)}, run.Events...)
	for i, event := range events {
		if n := i + 1; n > last {
			name, data, _ := strings.Cut(event, " ")
			_, _ = io.WriteString(w, "event: "+name+"\ndata: "+data+"\nid: "+strconv.Itoa(n)+"-0\n\n") //nolint:gosec // a script of a test, not for browsers
			_ = control.Flush()
			if s.cutNow(run, n) {
				panic(http.ErrAbortHandler)
			}
		}
	}
	if !s.awaitEnd(r, run) {
		return
	}
	_, _ = io.WriteString(w, "event: end\ndata: null\n\n")
}

func (s *Server) cutNow(run *live, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.cut || run.Cut == 0 || n < run.Cut {
		return false
	}
	run.cut = true
	return true
}

// awaitEnd reports whether the run has ended, and false when the client has gone before.
func (s *Server) awaitEnd(r *http.Request, run *live) bool {
	stopped := false
	if run.Hold != nil {
		select {
		case <-run.Hold:
		case <-run.stopped:
			stopped = true
		case <-r.Context().Done():
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.over = true; stopped {
		run.Status = thread.RunInterrupted
	}
	return true
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.find(r.PathValue("run"))
	switch {
	case run == nil:
		fail(w, http.StatusNotFound, "Run not found")
		return
	case run.over && len(run.Questions) == 0:
		fail(w, http.StatusConflict, "Run "+run.id+" is not cancellable (status: "+string(run.Status)+")")
		return
	}
	s.cancels = append(s.cancels, run.id)
	if !run.over {
		close(run.stopped)
	}
	run.over, run.Status, run.Questions = true, thread.RunInterrupted, nil
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) shape(run *live) map[string]any {
	shape := map[string]any{
		"run_id": run.id, "thread_id": run.thread, "status": thread.RunRunning, "stop_reason": nil, "error": nil,
		"total_input_tokens": run.Tokens, "total_output_tokens": run.Tokens, "total_tokens": 2 * run.Tokens, "llm_call_count": 1,
	}
	if run.over {
		shape["status"], shape["stop_reason"], shape["error"] = run.Status, run.StopReason, run.Error
		if run.Citations != nil {
			shape["citations"] = run.Citations
		}
	}
	return shape
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.find(r.PathValue("run"))
	if run == nil {
		fail(w, http.StatusNotFound, "Run not found")
		return
	}
	answer(w, s.shape(run))
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for i := len(s.started) - 1; i >= 0; i-- {
		if s.started[i].thread == r.PathValue("thread") {
			list = append(list, s.shape(s.started[i]))
		}
	}
	answer(w, list)
}
