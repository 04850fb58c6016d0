package zombies

import (
	"context"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"deerflow/internal/testkit"
)

// patience bounds every wait: it is reached by a failure only.
const (
	patience = 90 * time.Second
	tick     = 10 * time.Millisecond
)

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// pair is two workers on one Postgres database.
type pair struct {
	*testkit.Split
	t   *testing.T
	url string // of the database
}

func startPair(t *testing.T, m *testkit.Model) *pair {
	t.Helper()
	url := postgres.Database(t)
	s := testkit.StartSplit(t, testkit.SplitOptions{DatabaseURL: url, Config: testkit.ConfigFor(m), Workers: 2})
	return &pair{Split: s, t: t, url: url}
}

// at finds the one worker of which something is true, and the other one.
func (p *pair) at(is func(pid int) bool) (working, idle *testkit.Part) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		for i, w := range p.Workers {
			if is(w.Pid()) {
				working, idle = w, p.Workers[1-i]
				return true
			}
		}
		return false
	}, patience, tick, "one of the workers works on it")
	return working, idle
}

// streaming is the worker that has the model's connection.
func (p *pair) streaming(m *testkit.Model) (working, idle *testkit.Part) {
	p.t.Helper()
	port := portOf(p.t, m.URL())
	return p.at(func(pid int) bool { return testkit.ConnectedTo(pid, port) })
}

// commanding is the worker whose command runs.
func (p *pair) commanding(args ...string) (working, idle *testkit.Part) {
	p.t.Helper()
	return p.at(func(pid int) bool {
		return len(testkit.Live(func(c testkit.Proc) bool {
			return c.Parent == pid && strings.Contains(strings.Join(c.Args, " "), strings.Join(args, " "))
		})) > 0
	})
}

func (p *pair) workspace(threadID string) string {
	return filepath.Join(p.DataDir, "users", "default", "threads", threadID, "user-data", "workspace")
}

func portOf(t *testing.T, server string) int {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	return port
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newThread(t *testing.T, api *testkit.API) string {
	t.Helper()
	th, err := api.CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	return th.ThreadID
}

// messages are those of the thread's state.
func messages(t *testing.T, api *testkit.API, threadID string) []testkit.Message {
	t.Helper()
	state, err := api.State(patient(t), threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	return list
}

// shape lists types and texts, for comparing whole conversations.
func shape(list []testkit.Message) []string {
	var out []string
	for _, m := range list {
		text := m.Text()
		for _, c := range m.ToolCalls {
			text += ">" + c.Name
		}
		out = append(out, m.Type+": "+text)
	}
	return out
}

// awaitClosed waits until the model's server sees that the client has gone.
func awaitClosed(t *testing.T, r *testkit.Request, why string) {
	t.Helper()
	select {
	case <-r.Closed():
	case <-patient(t).Done():
		t.Fatal(why)
	}
}

// goesOn sends one more message: the thread is sound, and the next request is
// one that a strict provider takes.
func goesOn(t *testing.T, api *testkit.API, m *testkit.Model, threadID string) {
	t.Helper()
	before := shape(messages(t, api, threadID))
	m.On(testkit.LastUser("and on it goes")).Always(testkit.Text("on it goes"))
	_, err := api.WaitRun(patient(t), threadID, testkit.SayWatched("and on it goes"))
	require.NoError(t, err)
	require.Equal(t, append(before, "human: and on it goes", "ai: on it goes"), shape(messages(t, api, threadID)))
	th, err := api.Thread(patient(t), threadID)
	require.NoError(t, err)
	require.Equal(t, "idle", th.Status)
}
