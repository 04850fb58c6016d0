package fakeserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"deerflow/internal/thread"
)

// Run is what one run does. Runs are taken from the script in order.
type Run struct {
	Events []string // "name json", one an event; metadata comes before them and end after them by itself
	// Hold keeps the run going after its events, until it is closed or the run is cancelled.
	Hold chan struct{}
	// Cut breaks the first connection off after so many events.
	Cut int

	Status     thread.RunStatus // how it ends; success when empty
	StopReason string
	Error      string
	Tokens     int // of each kind

	// What the thread is like afterwards.
	Messages  []thread.Message
	Artifacts []string
	Questions []thread.Interrupt
	Citations map[string]any // of the run; nil for none
}

// Upload is a file that was sent.
type Upload struct{ Thread, Name, Content string }

// Server is the fake. Set its fields before the first request.
type Server struct {
	URL        string
	Script     []Run
	Files      map[string]string // contents by virtual path
	APIKey     string            // when set, it is asked for
	TemporalUI string
	Sick       string   // what /health complains of
	Known      []string // threads that exist from the beginning
	Titles     map[string]string
	Sources    []map[string]any // of every thread
	Missing    int              // characters that a PDF does not show
	// Conversions is what else is said of an uploaded file, by its name.
	Conversions map[string]map[string]any

	mu      sync.Mutex
	http    *httptest.Server
	started []*live
	bodies  []json.RawMessage
	uploads []Upload
	cancels []string
	deleted []string
	away    bool
}

// live is a run that was started.
type live struct {
	Run
	id, thread string
	cut        bool
	stopped    chan struct{} // closed by a cancel
	over       bool          // it has ended
}

// New starts a server that ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{Files: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /info", s.info)
	mux.HandleFunc("POST /api/threads/{thread}/runs/stream", s.start)
	mux.HandleFunc("GET /api/threads/{thread}/runs/{run}/stream", s.join)
	mux.HandleFunc("GET /api/threads/{thread}/runs/{run}", s.getRun)
	mux.HandleFunc("GET /api/threads/{thread}/runs", s.listRuns)
	mux.HandleFunc("POST /api/threads/{thread}/runs/{run}/cancel", s.cancel)
	mux.HandleFunc("POST /api/threads/{thread}/runs", s.begin)
	mux.HandleFunc("POST /api/threads/search", s.search)
	mux.HandleFunc("DELETE /api/threads/{thread}", s.deleteThread)
	mux.HandleFunc("GET /api/threads/{thread}", s.getThread)
	mux.HandleFunc("GET /api/threads/{thread}/state", s.state)
	mux.HandleFunc("POST /api/threads/{thread}/uploads", s.upload)
	mux.HandleFunc("GET /api/threads/{thread}/artifacts/{path...}", s.artifact)
	mux.HandleFunc("GET /api/threads/{thread}/sources", s.sources)
	mux.HandleFunc("GET /api/threads/{thread}/sources/{hash}", s.sourceText)
	mux.HandleFunc("GET /api/threads/{thread}/export", s.export)
	s.http = httptest.NewServer(s.guard(mux))
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// guard asks for the API key, and breaks every connection while the server is away.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isAway() {
			panic(http.ErrAbortHandler)
		}
		if s.APIKey != "" && r.URL.Path != "/health" && r.Header.Get("X-Api-Key") != s.APIKey {
			fail(w, http.StatusUnauthorized, map[string]string{"code": "not_authenticated", "message": "Authentication required"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

// Away makes every request and open stream break, or ends that.
func (s *Server) Away(away bool) {
	s.mu.Lock()
	s.away = away
	s.mu.Unlock()
	if away {
		s.http.CloseClientConnections()
	}
}

// Bodies are the requests that started runs.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]string, 0, len(s.bodies))
	for _, b := range s.bodies {
		all = append(all, string(b))
	}
	return all
}

// Uploads are the files that were sent, in order.
func (s *Server) Uploads() []Upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Upload{}, s.uploads...)
}

// Cancels are the ids of the runs that were cancelled.
func (s *Server) Cancels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.cancels...)
}

// Deleted are the ids of the threads that were deleted.
func (s *Server) Deleted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.deleted...)
}

// Begin starts the next run of the script in a thread, as another client would.
func (s *Server) Begin(threadID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next(threadID)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, detail any) {
	failWith(w, status, map[string]any{"detail": detail})
}

func failWith(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
