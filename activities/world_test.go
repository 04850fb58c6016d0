package activities

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// world is the activities on a real store, a real sandbox and a scripted model
// endpoint.
type world struct {
	t     *testing.T
	acts  *Activities
	store *store.Store
	env   *testsuite.TestActivityEnvironment
	cfg   *config.Config
	// endpoint is the base URL of the model.
	endpoint string
	dir      string // of the sandboxes, beside the database
	// answer is what the model endpoint says next.
	answer  http.HandlerFunc
	asked   int
	calls   int // of tools
	started step.StartRunResult
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked++
		w.answer(rw, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "deerflow.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	boxes, err := sandbox.NewLocal(sandbox.LocalOptions{Root: filepath.Join(dir, "users"), AllowHostBash: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, boxes.Close()) })
	w.dir = filepath.Join(dir, "users")
	w.cfg = config.Defaults()
	w.cfg.Models[0].Name, w.cfg.Models[0].Use = "kit", config.UseOpenAI
	w.endpoint = server.URL + "/v1"
	w.cfg.Models[0].Model, w.cfg.Models[0].BaseURL = "kit", w.endpoint
	w.store = st
	w.acts, err = New(Options{Store: st, Config: func() *config.Config { return w.cfg }, Sandboxes: boxes, UsersDir: filepath.Join(dir, "users")})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	w.env = suite.NewTestActivityEnvironment()
	w.acts.Register(w.env)
	w.start("t1", "r1", "hello")
	return w
}

// start submits a run and starts it.
func (w *world) start(threadID, runID, text string) {
	w.t.Helper()
	_, _, err := w.store.SubmitRun(w.t.Context(), store.NewRun{
		Run:      store.Run{ID: runID, ThreadID: threadID, User: "default"},
		Messages: []thread.Message{thread.Human(runID+"-in", text)}, CreateThread: true,
	})
	require.NoError(w.t, err)
	value, err := w.env.ExecuteActivity(step.StartRun, step.StartRunInput{Ref: ref(threadID, runID, 0)})
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&w.started))
}

func ref(threadID, runID string, n int) step.Ref {
	return step.Ref{Thread: threadID, User: "default", Run: runID, Step: n}
}

func (w *world) modelInput() step.CallModelInput {
	return step.CallModelInput{
		Ref: ref("t1", "r1", 1), MessageID: "r1-1", Pos: 1, Turn: 1, PlanHash: w.started.PlanHash,
		Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: 1}}},
	}
}

func (w *world) callModel() (step.CallModelResult, error) {
	w.t.Helper()
	var out step.CallModelResult
	value, err := w.env.ExecuteActivity(step.CallModel, w.modelInput())
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

// says streams a text and, where there are some, tool calls.
func says(text string, calls ...map[string]any) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		delta := map[string]any{"content": text}
		finish := "stop"
		if len(calls) > 0 {
			delta["tool_calls"], finish = calls, "tool_calls"
		}
		for _, chunk := range []map[string]any{
			{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
			{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
		} {
			data, _ := json.Marshal(chunk)
			_, _ = rw.Write([]byte("data: " + string(data) + "\n\n"))
		}
		_, _ = rw.Write([]byte("data: [DONE]\n\n"))
	}
}

func toolCall(id, name, args string) map[string]any {
	return map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}
}

func (w *world) events(kind string) int {
	w.t.Helper()
	events, err := w.store.Events(w.t.Context(), "t1", 0, 1000)
	require.NoError(w.t, err)
	n := 0
	for _, e := range events {
		if e.Type == kind {
			n++
		}
	}
	return n
}
