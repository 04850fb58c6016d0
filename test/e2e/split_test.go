package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// startSplit starts workers and APIs for one test.
func startSplit(t *testing.T, o testkit.SplitOptions) *testkit.Split {
	t.Helper()
	o.DatabaseURL = postgres.Database(t)
	return testkit.StartSplit(t, o)
}

// heldAnswer is a model that stops in the middle of its first answer, and gives
// a whole one afterwards.
func heldAnswer(t *testing.T) (*testkit.Model, *testkit.Gate) {
	t.Helper()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.Text("the first attempt was cut off in the middle", testkit.WithChunks(12), testkit.At(6, testkit.Hold(gate))),
		testkit.Text("the second attempt is whole", testkit.WithChunks(4)),
	)
	return m, gate
}

// streamUntil starts a run and follows it until the text stands on the screen.
func streamUntil(ctx context.Context, t *testing.T, api *testkit.API, text string, tr *transcript) (string, *testkit.SSE, []testkit.Frame) {
	t.Helper()
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := api.StreamRun(ctx, thread.ThreadID, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	t.Cleanup(stream.Close)
	frames, err := stream.Until(ctx, func(f testkit.Frame) bool {
		tr.read(t, f)
		return len(tr.of("ai")) > 0 && strings.Contains(tr.of("ai")[0], text)
	})
	require.NoError(t, err)
	return thread.ThreadID, stream, frames
}

func TestAnotherWorkerGoesOnWhereOneIsKilledForGood(t *testing.T) {
	t.Parallel()
	m, gate := heldAnswer(t)
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m), Workers: 2})
	ctx := patient(t)
	var tr transcript
	id, stream, _ := streamUntil(ctx, t, s.API(0), "first attempt", &tr)
	<-gate.Reached()
	working, idle := s.Workers[0], s.Workers[1]
	if !holdsConnection(t, working.Pid(), m.URL()) {
		working, idle = idle, working
	}
	require.True(t, holdsConnection(t, working.Pid(), m.URL()))
	require.NotEqual(t, identityOf(working), identityOf(idle), "two workers on one host have two names")
	working.Kill9()
	gate.Release()
	_, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	require.Equal(t, []string{"human: tell me", "ai: the second attempt is whole"}, shape(messages(t, s.API(0), id)))

	name := identityOf(working)
	working.Start()
	require.Equal(t, name, identityOf(working), "who replaces a dead worker gets its name")
}

func identityOf(worker *testkit.Part) string {
	return strings.Fields(worker.AwaitOutput("Worker  "))[1]
}

func TestReaderMovesToAnotherAPI(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(testkit.Text("one answer in many pieces, read at two places", testkit.WithChunks(12), testkit.At(6, testkit.Hold(gate))))
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m), APIs: 2})
	ctx := patient(t)
	var tr transcript
	id, stream, before := streamUntil(ctx, t, s.API(0), "one answer", &tr)
	<-gate.Reached()
	s.APIs[0].Kill9()
	again, err := s.API(1).JoinStream(ctx, id, stream.RunID(), stream.LastID())
	require.NoError(t, err)
	defer again.Close()
	gate.Release()
	after, err := again.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	tr.read(t, after...)
	noDoubles(t, append(before, after...))
	require.Equal(t, []string{"one answer in many pieces, read at two places"}, tr.of("ai"))
	require.Len(t, m.Requests(), 1, "E13: the run did not notice")
}

func TestReadersOfOtherProcessesAreTold(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(testkit.Text("before and after", testkit.WithChunks(2), testkit.At(1, testkit.Hold(gate))))
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m)})
	ctx := patient(t)
	var tr transcript
	_, stream, _ := streamUntil(ctx, t, s.API(0), "before", &tr)
	<-gate.Reached()
	released := time.Now()
	gate.Release()
	_, err := stream.Until(ctx, func(f testkit.Frame) bool {
		tr.read(t, f)
		return tr.of("ai")[0] == "before and after"
	})
	require.NoError(t, err)
	// Without notices the table is asked once a second.
	require.Less(t, time.Since(released), 700*time.Millisecond)
}

// health asks for /health and gives the status and what stands for each part.
func health(ctx context.Context, t *testing.T, api *testkit.API) (int, map[string]string) {
	t.Helper()
	var body struct {
		Parts map[string]string `json:"parts"`
	}
	_, err := api.Do(ctx, http.MethodGet, "/health", nil, &body)
	status := testkit.StatusOf(err)
	if err == nil {
		return http.StatusOK, body.Parts
	}
	var answer *testkit.HTTPError
	require.ErrorAs(t, err, &answer)
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &body), answer.Body)
	return status, body.Parts
}

func TestTemporalMissingAtTheStart(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Enqueue(testkit.Text("now it works"))
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m), Stopped: true})
	ctx := patient(t)
	s.Workers[0].Launch()
	s.APIs[0].Start()
	require.Contains(t, s.Workers[0].AwaitOutput("waiting for Temporal at "+s.Temporal.Addr), "connection refused")
	api := s.API(0)
	status, parts := health(ctx, t, api)
	require.Equal(t, http.StatusServiceUnavailable, status, "M14: health says so")
	require.Equal(t, "ok", parts["database"])
	require.NotEqual(t, "ok", parts["temporal"])
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err, "what needs no Temporal works")
	asked := time.Now()
	_, err = api.CreateRun(ctx, thread.ThreadID, testkit.SayWatched("too early"))
	require.Equal(t, http.StatusServiceUnavailable, testkit.StatusOf(err), "%v", err)
	require.Less(t, time.Since(asked), 5*time.Second, "M14: fast")
	runs, err := api.Runs(ctx, thread.ThreadID)
	require.NoError(t, err)
	require.Empty(t, runs, "what was refused is not there")

	s.Temporal.Start()
	s.Workers[0].AwaitReady()
	s.AwaitHealthy(0)
	_, err = api.WaitRun(ctx, thread.ThreadID, testkit.SayWatched("and now?"))
	require.NoError(t, err)
	require.Equal(t, []string{"human: and now?", "ai: now it works"}, shape(messages(t, api, thread.ThreadID)))

	s.Temporal.Kill9()
	require.Eventually(t, func() bool {
		_, parts := health(ctx, t, api)
		return parts["temporal"] != "ok"
	}, patience, tick)
	s.Temporal.Start()
	s.AwaitHealthy(0)
}

func TestNoWorkerAtTheStart(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Enqueue(testkit.Text("better late than never"))
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m), Stopped: true})
	ctx := patient(t)
	s.Temporal.Start()
	s.APIs[0].Start()
	api := s.API(0)
	status, parts := health(ctx, t, api)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "ok", parts["temporal"])
	require.Contains(t, parts["worker"], "deerflow worker", "M14: health says what to do")
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	asked := time.Now()
	run, err := api.CreateRun(ctx, thread.ThreadID, testkit.SayWatched("is anybody there?"))
	require.NoError(t, err)
	require.Less(t, time.Since(asked), 5*time.Second)
	run, err = api.Run(ctx, thread.ThreadID, run.RunID)
	require.NoError(t, err)
	require.Equal(t, "pending", run.Status, "M14: queued, with a state that can be seen")

	s.Workers[0].Start()
	_, err = api.AwaitRun(ctx, thread.ThreadID, run.RunID, "success")
	require.NoError(t, err, "M14: it recovers alone")
	require.Equal(t, []string{"human: is anybody there?", "ai: better late than never"}, shape(messages(t, api, thread.ThreadID)))
	s.AwaitHealthy(0)
}

func TestNamespaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	s := startSplit(t, testkit.SplitOptions{Config: testkit.ConfigFor(m), Stopped: true, Namespace: "elsewhere"})
	ctx := patient(t)
	s.Temporal.Start()
	s.Workers[0].Launch()
	s.APIs[0].Start()
	s.Workers[0].AwaitOutput(`there is no namespace "elsewhere"`)
	api := s.API(0)
	status, parts := health(ctx, t, api)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, parts["temporal"], `there is no namespace "elsewhere"`)
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	_, err = api.CreateRun(ctx, thread.ThreadID, testkit.SayWatched("hello?"))
	require.Equal(t, http.StatusServiceUnavailable, testkit.StatusOf(err), "M14: %v", err)
	code, took := s.Workers[0].Stop()
	require.Equal(t, 0, code, "a worker that waits can be stopped")
	require.Less(t, took, 5*time.Second)
}
