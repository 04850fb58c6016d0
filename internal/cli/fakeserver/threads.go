package fakeserver

import (
	"io"
	"net/http"
	"path"
	"strings"

	"deerflow/internal/thread"
)

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.Sick != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer(w, map[string]string{"service": "deerflow", "status": "unhealthy", "detail": s.Sick})
		return
	}
	answer(w, map[string]string{"service": "deerflow", "status": "healthy"})
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]string{"service": "deerflow", "temporal_ui": s.TemporalUI})
}

// view is what the thread is like: as of its newest run that has ended.
func (s *Server) view(threadID string) (run Run, known bool) {
	for i := len(s.started) - 1; i >= 0; i-- {
		if r := s.started[i]; r.thread == threadID {
			if known = true; r.over {
				return r.Run, true
			}
		}
	}
	return Run{}, known || s.isKnown(threadID)
}

func values(run Run) map[string]any {
	if run.Messages == nil {
		run.Messages = []thread.Message{}
	}
	return map[string]any{"messages": run.Messages, "artifacts": run.Artifacts}
}

func (s *Server) getThread(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("thread")
	run, known := s.view(id)
	if !known {
		fail(w, http.StatusNotFound, "Thread "+id+" not found")
		return
	}
	shape := map[string]any{"thread_id": id, "status": "idle", "values": values(run)}
	if len(run.Questions) > 0 {
		shape["interrupts"] = map[string]any{"task": run.Questions}
	}
	answer(w, shape)
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("thread")
	run, known := s.view(id)
	if !known {
		fail(w, http.StatusNotFound, "Thread "+id+" not found")
		return
	}
	tasks := []any{}
	if len(run.Questions) > 0 {
		tasks = append(tasks, map[string]any{"id": "task", "name": "tools", "interrupts": run.Questions})
	}
	answer(w, map[string]any{"values": values(run), "next": []string{}, "tasks": tasks})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	form, err := r.MultipartReader()
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	files := []map[string]any{}
	for {
		part, err := form.NextPart()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(part)
		if string(content) == "too large" {
			fail(w, http.StatusRequestEntityTooLarge, "File "+part.FileName()+" is larger than the limit")
			return
		}
		s.mu.Lock()
		name := part.FileName()
		for _, u := range s.uploads {
			if u.Name == name {
				name = "2-" + name
			}
		}
		s.uploads = append(s.uploads, Upload{Thread: r.PathValue("thread"), Name: name, Content: string(content)})
		s.mu.Unlock()
		files = append(files, map[string]any{"filename": name, "size": len(content), "virtual_path": "/mnt/user-data/uploads/" + name})
	}
	answer(w, map[string]any{"success": true, "files": files})
}

func (s *Server) artifact(w http.ResponseWriter, r *http.Request) {
	file := "/" + r.PathValue("path")
	content, known := s.Files[file]
	if !known {
		fail(w, http.StatusNotFound, "Artifact not found: "+file)
		return
	}
	kinds := map[string]string{".md": "text/markdown; charset=utf-8", ".txt": "text/plain", ".json": "application/json"}
	w.Header().Set("Content-Type", "application/octet-stream")
	if kind, ok := kinds[path.Ext(file)]; ok {
		w.Header().Set("Content-Type", kind)
	}
	_, _ = io.Copy(w, strings.NewReader(content))
}
