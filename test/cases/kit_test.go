package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const patience = 40 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func messages(t *testing.T, api *testkit.API, threadID string) []testkit.Message {
	t.Helper()
	state, err := api.State(patient(t), threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	return list
}

func shape(list []testkit.Message) []string {
	var out []string
	for _, m := range list {
		text := m.Text()
		if len(text) > 160 {
			text = text[:160] + fmt.Sprintf("...(%d)", len(text))
		}
		for _, c := range m.ToolCalls {
			text += " >" + c.Name
		}
		out = append(out, m.Type+": "+text)
	}
	return out
}

func noDoubles(t *testing.T, frames []testkit.Frame) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range frames {
		if f.ID == "" || f.Event == "end" {
			continue
		}
		require.False(t, seen[f.ID], "event %s came twice", f.ID)
		seen[f.ID] = true
	}
}

func newThread(t *testing.T, api *testkit.API) string {
	t.Helper()
	th, err := api.CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	return th.ThreadID
}

// run sends text and waits for the end of the run.
func run(t *testing.T, api *testkit.API, id, text string) testkit.Run {
	t.Helper()
	ctx := patient(t)
	r, err := api.CreateRun(ctx, id, testkit.SayWatched(text))
	require.NoError(t, err)
	r, err = api.AwaitRun(ctx, id, r.RunID)
	require.NoError(t, err)
	return r
}

func last(list []testkit.Message) testkit.Message { return list[len(list)-1] }

func userDir(p *testkit.Process, id string) string {
	return filepath.Join(p.DataDir, "users", "default", "threads", id, "user-data")
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func restarted(p *testkit.Process) *testkit.Process {
	return p.Restart(func(o *testkit.DevOptions) { o.Listen = p.Addr() })
}

func call(id, name string, args any) testkit.Call {
	return testkit.Call{ID: id, Name: name, Args: args}
}

func sayAs(id, text string) testkit.RunRequest {
	return testkit.RunRequest{Input: map[string]any{"messages": []any{map[string]any{"role": "user", "content": text, "id": id}}}, StreamMode: testkit.WatchModes()}
}

func do(t *testing.T, api *testkit.API, id string, req testkit.RunRequest) testkit.Run {
	t.Helper()
	ctx := patient(t)
	r, err := api.CreateRun(ctx, id, req)
	require.NoError(t, err)
	r, err = api.AwaitRun(ctx, id, r.RunID)
	require.NoError(t, err)
	return r
}

func ask(id, q string) testkit.Call {
	return call(id, "ask_clarification", map[string]any{"question": q, "clarification_type": "missing_info"})
}

func ls(id, path string) testkit.Call {
	return call(id, "ls", map[string]any{"description": "look", "path": path})
}

func writeFile(id, name, content string) testkit.Call {
	return call(id, "write_file", map[string]any{"description": "w", "path": "/mnt/user-data/outputs/" + name, "content": content})
}

func awaitAll(t *testing.T, api *testkit.API, id string, want ...string) {
	t.Helper()
	ctx := patient(t)
	runs, err := api.Runs(ctx, id)
	require.NoError(t, err)
	for _, r := range runs {
		r, err = api.AwaitRun(ctx, id, r.RunID)
		require.NoError(t, err)
		if len(want) > 0 {
			require.Contains(t, want, r.Status)
		}
	}
}

// awaitFile waits until a tool has made the file: from then on it runs.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, patience, 5*time.Millisecond)
}
