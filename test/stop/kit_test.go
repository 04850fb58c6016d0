package stop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// patience bounds every wait: it is reached by a failure only.
const (
	patience = 90 * time.Second
	tick     = 5 * time.Millisecond
)

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// product is what a test needs of either shape.
type product struct {
	api     *testkit.API
	dataDir string
	workers func() []int // their process ids
}

func startDev(t *testing.T, config string) product {
	t.Helper()
	p := testkit.StartDev(t, testkit.DevOptions{Config: config})
	return product{api: p.API(), dataDir: p.DataDir, workers: func() []int { return []int{p.Pid()} }}
}

func startSplit(t *testing.T, o testkit.SplitOptions) (product, *testkit.Split) {
	t.Helper()
	s := testkit.StartSplit(t, o)
	return product{api: s.API(0), dataDir: s.DataDir, workers: func() []int {
		var pids []int
		for _, w := range s.Workers {
			pids = append(pids, w.Pid())
		}
		return pids
	}}, s
}

func (p *product) workspace(threadID string) string {
	return filepath.Join(p.dataDir, "users", "default", "threads", threadID, "user-data", "workspace")
}

func (p *product) newThread(t *testing.T) string {
	t.Helper()
	th, err := p.api.CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	return th.ThreadID
}

// start starts a run.
func (p *product) start(t *testing.T, threadID, text string) string {
	t.Helper()
	run, err := p.api.CreateRun(patient(t), threadID, testkit.SayWatched(text))
	require.NoError(t, err)
	return run.RunID
}

func (p *product) messages(t *testing.T, threadID string) []testkit.Message {
	t.Helper()
	state, err := p.api.State(patient(t), threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	return list
}

// awaitInterrupted waits until the run has ended as one that was stopped.
func (p *product) awaitInterrupted(t *testing.T, threadID, runID string) {
	t.Helper()
	run, err := p.api.AwaitRun(patient(t), threadID, runID, "interrupted")
	require.NoError(t, err)
	require.Equal(t, "interrupted", run.Status)
}

// goesOn sends one more message: every call has its result, and the next request
// is one that a strict provider takes.
func (p *product) goesOn(t *testing.T, m *testkit.Model, threadID string) {
	t.Helper()
	before := p.messages(t, threadID)
	asked := map[string]bool{}
	for _, x := range before {
		for _, c := range x.ToolCalls {
			asked[c.ID] = true
		}
		delete(asked, x.ToolCallID)
	}
	require.Empty(t, asked, "calls without a result")
	m.On(testkit.LastUser("and on it goes")).Always(testkit.Text("on it goes"))
	_, err := p.api.WaitRun(patient(t), threadID, testkit.SayWatched("and on it goes"))
	require.NoError(t, err)
	after := p.messages(t, threadID)
	require.Len(t, after, len(before)+2)
	require.Equal(t, "on it goes", after[len(after)-1].Text())
	th, err := p.api.Thread(patient(t), threadID)
	require.NoError(t, err)
	require.Equal(t, "idle", th.Status)
}

// shows waits until a reader of the thread's run has the text on the screen.
func (p *product) shows(t *testing.T, threadID, runID, text string) {
	t.Helper()
	stream, err := p.api.JoinStream(patient(t), threadID, runID, "-1")
	require.NoError(t, err)
	defer stream.Close()
	var shown strings.Builder
	_, err = stream.Until(patient(t), func(f testkit.Frame) bool {
		var pair []struct {
			Content string `json:"content"`
		}
		if f.Event == "messages" && f.Decode(&pair) == nil && len(pair) > 0 {
			shown.WriteString(pair[0].Content)
		}
		return strings.Contains(shown.String(), text) || f.Event == "custom" && strings.Contains(f.Data, text)
	})
	require.NoError(t, err)
}

// stopwatch measures from a stop to facts, and prints what it measures.
type stopwatch struct {
	t     *testing.T
	begun time.Time
}

func watch(t *testing.T) stopwatch {
	t.Helper()
	return stopwatch{t: t, begun: time.Now()}
}

// within waits for a fact and fails when it took longer.
func (w stopwatch) within(limit time.Duration, what string, fact func() bool) {
	w.t.Helper()
	require.Eventually(w.t, fact, patience, tick, what)
	took := time.Since(w.begun)
	w.t.Logf("%s %v after the stop", what, took.Round(time.Millisecond))
	require.Less(w.t, took, limit, what)
}

func closed(r *testkit.Request) func() bool {
	return func() bool {
		_, is := r.ClosedAt()
		return is
	}
}

// groupGone reports whether nothing lives in a process group.
func groupGone(group int) func() bool {
	return func() bool { return len(testkit.Live(testkit.InGroup(group))) == 0 }
}

// command waits until the one command of the workers runs, and gives its shell,
// whose id is that of its group.
func (p *product) command(t *testing.T) testkit.Proc {
	t.Helper()
	var found []testkit.Proc
	require.Eventually(t, func() bool {
		found = testkit.Live(func(c testkit.Proc) bool {
			for _, pid := range p.workers() {
				if c.Parent == pid && c.Group == c.Pid {
					return true
				}
			}
			return false
		})
		return len(found) == 1
	}, patience, tick, "one command runs")
	return found[0]
}

// awaitFile waits until a command has made a file: from then on it runs.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, patience, tick)
}

func bash(id, command string) testkit.Call {
	return testkit.Call{ID: id, Name: "bash", Args: map[string]any{"description": "as the test wants it", "command": command}}
}
