package fakeserver

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
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

// ids are the threads that there are, oldest first.
func (s *Server) ids() []string {
	ids := slices.Clone(s.Known)
	for _, run := range s.started {
		if !slices.Contains(ids, run.thread) {
			ids = append(ids, run.thread)
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(s.deleted, id) })
}

// summary is a thread in a list, whose values have the title only.
func (s *Server) summary(id string) map[string]any {
	run, _ := s.view(id)
	shape := map[string]any{"thread_id": id, "status": "idle", "values": map[string]any{}}
	if title := s.Titles[id]; title != "" {
		shape["values"] = map[string]any{"title": title}
	}
	switch newest := s.newest(id); {
	case newest != nil && !newest.over:
		shape["status"] = "busy"
	case len(run.Questions) > 0:
		shape["status"], shape["interrupts"] = "interrupted", map[string]any{"task": run.Questions}
	case run.Status == thread.RunError:
		shape["status"], shape["error"] = "error", run.Error
	}
	return shape
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Status        string
		Limit, Offset int
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, id := range s.ids() {
		if shape := s.summary(id); asked.Status == "" || asked.Status == shape["status"] {
			list = append(list, shape)
		}
	}
	w.Header().Set("X-Pagination-Total", strconv.Itoa(len(list)))
	list = list[min(asked.Offset, len(list)):]
	if asked.Limit > 0 {
		list = list[:min(asked.Limit, len(list))]
	}
	answer(w, list)
}

func (s *Server) deleteThread(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("thread")
	newest := s.newest(id)
	switch {
	case !slices.Contains(s.ids(), id):
		fail(w, http.StatusNotFound, "Thread "+id+" not found")
	case newest != nil && !newest.over:
		failWith(w, http.StatusConflict, map[string]any{"detail": "Thread has a run in flight", "run_id": newest.id})
	default:
		s.deleted = append(s.deleted, id)
		answer(w, map[string]any{"success": true})
	}
}

func (s *Server) getThread(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("thread")
	run, known := s.view(id)
	if !known || slices.Contains(s.deleted, id) {
		fail(w, http.StatusNotFound, "Thread "+id+" not found")
		return
	}
	shape := s.summary(id)
	all := values(run)
	if title := s.Titles[id]; title != "" {
		all["title"] = title
	}
	shape["values"] = all
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
		file := map[string]any{"filename": name, "size": len(content), "virtual_path": "/mnt/user-data/uploads/" + name}
		maps.Copy(file, s.Conversions[name])
		files = append(files, file)
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

// sourceText gives, for a hash that a source has, a text that names it.
func (s *Server) sourceText(w http.ResponseWriter, r *http.Request) {
	for _, source := range s.Sources {
		if hash, _ := source["hash"].(string); hash != "" && strings.HasPrefix(hash, r.PathValue("hash")) {
			_, _ = w.Write([]byte("text of " + hash + "\x1b[2J"))
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	answer(w, map[string]any{"detail": "Source not found"})
}

func (s *Server) sources(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"sources": s.Sources, "count": len(s.Sources)})
}

// export gives, as any document, its format and what was asked for.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	format, file := r.FormValue("format"), r.FormValue("path")
	if file == "/mnt/user-data/outputs/none.md" {
		fail(w, http.StatusNotFound, "Artifact not found: "+file)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="report.`+format+`"`)
	w.Header().Set("Deerflow-Missing-Glyphs", strconv.Itoa(s.Missing))
	_, _ = io.WriteString(w, format+" of "+file) //nolint:gosec // tests read it
}
