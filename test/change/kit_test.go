package change

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// patience bounds every wait: it is reached by a failure only.
const patience = 2 * time.Minute

func call(id, name string, args map[string]any) Call {
	return Call{ID: id, Name: name, Args: args}
}

func ls(id, path string) Call {
	return call(id, "ls", map[string]any{"description": "look", "path": path})
}

func bash(id, command string) Call {
	return call(id, "bash", map[string]any{"description": "do it", "command": command})
}

func ask(id, question string) Call {
	return call(id, "ask_clarification", map[string]any{"question": question, "clarification_type": "missing_info"})
}

// seeing is a config whose model can look at images.
func seeing(config string) string {
	return strings.Replace(config, "    api_key:", "    supports_vision: true\n    api_key:", 1)
}

func enqueued(text string) RunRequest { return with(SayWatched(text), "enqueue") }

func with(r RunRequest, strategy string) RunRequest {
	r.MultitaskStrategy = strategy
	return r
}

// onceAnswered asks until a question has been answered, then gives the other
// replies turn by turn. It looks at the request alone.
func onceAnswered(question Reply, then ...Reply) func(*Request) Reply {
	return func(r *Request) Reply {
		if !AnyMessage("my answer is: ")(r) {
			return question
		}
		return ByTurn(then...)(r)
	}
}

// texts lists types and texts of a thread's messages.
func texts(ctx context.Context, t *testing.T, api *API, threadID string) []string {
	t.Helper()
	state, err := api.State(ctx, threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	out := make([]string, 0, len(list))
	seen := map[string]bool{}
	for _, m := range list {
		require.False(t, seen[m.ID], "message %s is there twice", m.ID)
		seen[m.ID] = true
		out = append(out, m.Type+": "+m.Text())
	}
	return out
}

// workspace is where the commands of a thread run.
func workspace(p *Process, threadID string) string {
	return filepath.Join(p.DataDir, "users", "default", "threads", threadID, "user-data", "workspace")
}

// awaitFile waits until a command has written to a file: from then on it runs.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	}, patience, 5*time.Millisecond)
}

// killed starts the program anew at the same address, on the same data.
func killed(p *Process, edit ...func(*DevOptions)) *Process {
	p.Kill9()
	return p.Restart(append(edit, func(o *DevOptions) { o.Listen = p.Addr() })...)
}

// loseTemporal removes the database of Temporal.
func loseTemporal(t *testing.T, p *Process) {
	t.Helper()
	for _, name := range []string{"temporal.db", "temporal.db-wal", "temporal.db-shm"} {
		if err := os.Remove(filepath.Join(p.DataDir, name)); !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
		}
	}
}
