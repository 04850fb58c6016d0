package change

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
	. "deerflow/internal/testkit"
	"deerflow/workflows"
)

// The threads of a recorded database, as they stood when the program was killed.
const (
	restingThread   = "0b1f0a4e-5f0c-4a53-9d0e-0000000000a1" // two runs, both over
	askingThread    = "0b1f0a4e-5f0c-4a53-9d0e-0000000000a2" // waits with a question
	streamingThread = "0b1f0a4e-5f0c-4a53-9d0e-0000000000a3" // a model answers, and a run waits
)

// dataScript answers their requests.
func dataScript(m *Model, gate *Gate) {
	m.Respond(func(r *Request) Reply {
		switch said := r.LastUser(); {
		case strings.Contains(said, "my answer is: "):
			return Text("answered")
		case said == "look, then ask":
			return ByTurn(ToolCalls(ls("l", "/mnt/user-data/0")), ToolCalls(ask("q", "Which?")))(r)
		case said == "look, then tell":
			return ByTurn(ToolCalls(ls("l", "/mnt/user-data/0")), Text("told", WithChunks(4), At(2, Hold(gate))))(r)
		}
		return Text("answer to " + r.LastUser())
	})
}

// atFixedAddress gives a model an address that outlives it, by way of a proxy,
// since a run goes on with the model at the address where it began.
func atFixedAddress(m *Model, dataDir string) DevOptions {
	return DevOptions{
		Config:  strings.Replace(ConfigFor(m), m.URL(), "http://model.invalid/v1", 1),
		Env:     []string{"HTTP_PROXY=" + strings.TrimSuffix(m.URL(), "/v1")},
		DataDir: dataDir,
	}
}

// The database of each version of the loop, opened by this program with no
// Temporal beside it: what had begun goes on by the rules of that version, what
// had not goes by those of this one.
func TestDataOfEveryVersion(t *testing.T) {
	t.Parallel()
	recordData(t)
	for v := 1; v <= workflows.LoopVersion; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) {
			t.Parallel()
			opensData(t, v)
		})
	}
}

func opensData(t *testing.T, version int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	dir := t.TempDir()
	unpack(t, dataFile(version), filepath.Join(dir, "deerflow.db"))
	m, gate := NewModel(t), NewGate()
	gate.Release()
	dataScript(m, gate)
	p := StartDev(t, atFixedAddress(m, dir))
	api := p.API()

	runs, err := api.Runs(ctx, streamingThread)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	for _, run := range runs {
		_, err := api.AwaitRun(ctx, streamingThread, run.RunID, "success")
		require.NoError(t, err)
	}
	says(ctx, t, api, askingThread, Resume("this"))
	next := says(ctx, t, api, restingThread, SayWatched("three"))
	for id, want := range map[string][]string{
		restingThread:   {"human: one", "ai: answer to one", "human: two", "ai: answer to two", "human: three", "ai: answer to three"},
		streamingThread: {"human: look, then tell", "ai: ", "tool: Error: Directory not found: /mnt/user-data/0", "ai: told", "human: and then?", "ai: answer to and then?"},
		askingThread:    {"human: look, then ask", "ai: ", "tool: Error: Directory not found: /mnt/user-data/0", "ai: ", "tool: ❓ Which?", "human: For your clarification \"Which?\", my answer is: this", "ai: answered"},
	} {
		require.Equal(t, want, texts(ctx, t, api, id))
	}

	p.Stop()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "deerflow.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	anew := map[string]bool{runs[0].RunID: true, next.RunID: true} // runs are listed newest first
	for _, id := range []string{restingThread, askingThread, streamingThread} {
		rows, err := st.ListRuns(ctx, id, store.RunQuery{})
		require.NoError(t, err)
		for _, row := range rows {
			want := version
			if anew[row.ID] {
				want = workflows.LoopVersion
			}
			require.Equal(t, want, row.LoopVersion, "run %s of thread %s", row.ID, id)
		}
	}
}

// says starts a run and waits until it has done what it was to do.
func says(ctx context.Context, t *testing.T, api *API, id string, r RunRequest) Run {
	t.Helper()
	run, err := api.CreateRun(ctx, id, r)
	require.NoError(t, err)
	run, err = api.AwaitRun(ctx, id, run.RunID, "success")
	require.NoError(t, err)
	return run
}

func dataFile(version int) string {
	return fmt.Sprintf("testdata/v%d/deerflow.db.gz", version)
}

// recordData makes the database of this version, when asked to and it is not
// there.
func recordData(t *testing.T) {
	t.Helper()
	file := dataFile(workflows.LoopVersion)
	if _, err := os.Stat(file); err == nil || os.Getenv(recordEnv) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, gate := NewModel(t), NewGate()
	t.Cleanup(gate.Release)
	dataScript(m, gate)
	p := StartDev(t, atFixedAddress(m, ""))
	api := p.API()
	for _, id := range []string{restingThread, askingThread, streamingThread} {
		_, err := api.CreateThread(ctx, id, nil)
		require.NoError(t, err)
	}
	says(ctx, t, api, restingThread, SayWatched("one"))
	says(ctx, t, api, restingThread, SayWatched("two"))
	says(ctx, t, api, askingThread, SayWatched("look, then ask"))
	_, err := api.CreateRun(ctx, streamingThread, SayWatched("look, then tell"))
	require.NoError(t, err)
	select {
	case <-gate.Reached():
	case <-ctx.Done():
		require.NoError(t, ctx.Err())
	}
	_, err = api.CreateRun(ctx, streamingThread, enqueued("and then?"))
	require.NoError(t, err)
	p.Kill9()
	path := filepath.Join(p.DataDir, "deerflow.db")
	st, err := store.Open(ctx, store.Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, st.Close()) // what stands in the log goes to the file
	pack(t, path, file)
}

func pack(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(from))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o750))
	writePacked(t, to, data)
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	file, err := os.Open(filepath.Clean(from))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	reader, err := gzip.NewReader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}
