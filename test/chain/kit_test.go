package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	. "deerflow/internal/testkit"
)

const patience = 90 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newThread(t *testing.T, api *API) string {
	t.Helper()
	th, err := api.CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	return th.ThreadID
}

// begin starts a run in plan mode; finish waits for its end.
func begin(t *testing.T, api *API, id string, r RunRequest) Run {
	t.Helper()
	r.Context = map[string]any{"is_plan_mode": true}
	run, err := api.CreateRun(patient(t), id, r)
	require.NoError(t, err)
	return run
}

func finish(t *testing.T, api *API, id string, run Run) Run {
	t.Helper()
	run, err := api.AwaitRun(patient(t), id, run.RunID)
	require.NoError(t, err)
	return run
}

func values(t *testing.T, api *API, id string) Values {
	t.Helper()
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	return state.Values
}

func messages(t *testing.T, api *API, id string) []Message {
	t.Helper()
	list, err := values(t, api, id).Messages()
	require.NoError(t, err)
	return list
}

func call(name string, args map[string]any) Call {
	if args["description"] == nil && name != "write_todos" && name != "view_image" && name != "present_files" && name != "ask_clarification" {
		args["description"] = "next"
	}
	return Call{Name: name, Args: args}
}

func ls(path string) Call { return call("ls", map[string]any{"path": "/mnt/user-data/" + path}) }

func bash(command string) Call { return call("bash", map[string]any{"command": command}) }

func write(path, content string) Call {
	return call("write_file", map[string]any{"path": "/mnt/user-data/" + path, "content": content})
}

func todos(items ...string) Call {
	list := []any{}
	for i := 0; i < len(items); i += 2 {
		list = append(list, map[string]any{"content": items[i], "status": items[i+1]})
	}
	return call("write_todos", map[string]any{"todos": list})
}

func userDir(p *Process, id string) string {
	return filepath.Join(p.DataDir, "users", "default", "threads", id, "user-data")
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func dial(t *testing.T, p *Process) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: p.Temporal, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
