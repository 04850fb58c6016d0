package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"deerflow/internal/store/pgtest"
	"deerflow/internal/testkit"
)

const (
	// patience is how long a test waits for what has to come: it is reached by a
	// failure only.
	patience = 4 * time.Minute
	tick     = 20 * time.Millisecond
)

// outage is how long a part is away.
var outage = 5 * time.Second

// postgres is the server that tests share which do not stop it.
var postgres pgtest.Shared

func TestMain(m *testing.M) {
	if os.Getenv("DEERFLOW_SOAK") != "" {
		outage = time.Minute
	}
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newThread(t *testing.T, api *testkit.API) string {
	t.Helper()
	th, err := api.CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	return th.ThreadID
}

// run starts a run and waits for its end.
func run(t *testing.T, api *testkit.API, threadID string, request testkit.RunRequest) testkit.Run {
	t.Helper()
	ctx := patient(t)
	r, err := api.CreateRun(ctx, threadID, request)
	require.NoError(t, err)
	r, err = api.AwaitRun(ctx, threadID, r.RunID)
	require.NoError(t, err)
	return r
}

func messages(t *testing.T, api *testkit.API, threadID string) []testkit.Message {
	t.Helper()
	state, err := api.State(patient(t), threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	return list
}

// texts are the types and texts of messages, long ones cut.
func texts(list []testkit.Message) []string {
	out := make([]string, len(list))
	for i, m := range list {
		text := m.Text()
		out[i] = m.Type + ": " + text[:min(len(text), 120)]
	}
	return out
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func call(id, name string, args any) testkit.Call {
	return testkit.Call{ID: id, Name: name, Args: args}
}

func bash(id, command string) testkit.Call {
	return call(id, "bash", map[string]any{"description": "d", "command": command})
}

// health asks for /health: the status, and what it says of each part.
func health(ctx context.Context, t *testing.T, api *testkit.API) (int, map[string]string) {
	t.Helper()
	var body struct {
		Parts map[string]string `json:"parts"`
	}
	_, err := api.Do(ctx, http.MethodGet, "/health", nil, &body)
	if err == nil {
		return http.StatusOK, body.Parts
	}
	var answer *testkit.HTTPError
	require.ErrorAs(t, err, &answer)
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &body), answer.Body)
	return answer.Status, body.Parts
}

// sick waits until /health blames a part, and gives what it says of it.
func sick(t *testing.T, api *testkit.API, part string) string {
	t.Helper()
	var said string
	require.Eventually(t, func() bool {
		status, parts := health(patient(t), t, api)
		said = parts[part]
		return status == http.StatusServiceUnavailable && said != "ok"
	}, patience, tick, "health blames %s", part)
	return said
}

// healthy waits until /health has no complaint.
func healthy(t *testing.T, api *testkit.API) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _ := health(patient(t), t, api)
		return status == http.StatusOK
	}, patience, tick, "health recovers")
}
