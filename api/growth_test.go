package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// sayFor submits a run of thread t whose stream has one mode.
func (e *env) sayFor(t *testing.T, mode string) string {
	t.Helper()
	request := testkit.Say("go")
	request.IfNotExists, request.StreamMode = "create", []string{mode}
	run, err := e.root.CreateRun(e.ctx, "t", request)
	require.NoError(t, err)
	return run.RunID
}

// valuesBytes plays a run of many tool calls with long results and gives what a
// reader of values was sent, and the frames.
func valuesBytes(t *testing.T, turns int) (int64, []testkit.Frame) {
	t.Helper()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.sayFor(t, "values")
	p.start(run)
	for range turns {
		p.tool(p.call("bash", `{"command":"ls"}`), strings.Repeat("x", 2000))
		p.commit()
	}
	p.model("done")
	p.success()
	s, err := e.root.JoinStream(e.ctx, "t", run, "-1")
	require.NoError(t, err)
	frames := all(t, e, s)
	return s.Bytes(), frames
}

// E18: what a reader of values is sent grows with the conversation, not with its
// square, and the last frame has all of it.
func TestE18ValuesGrowWithTheConversation(t *testing.T) {
	t.Parallel()
	short, _ := valuesBytes(t, 30)
	long, frames := valuesBytes(t, 120)
	require.Less(t, float64(long)/float64(short), 6.0, "4 is linear, 16 is the square: %d and %d bytes", short, long)
	require.Less(t, long, int64(10*120*2000), "%d frames", len(frames))
	var values testkit.Values
	require.Equal(t, "values", frames[len(frames)-2].Event)
	require.NoError(t, frames[len(frames)-2].Decode(&values))
	messages, err := values.Messages()
	require.NoError(t, err)
	require.Len(t, messages, 242)

	// A change beside the messages is shown at once, however long the run is.
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.sayFor(t, "values")
	p.start(run)
	for range 30 {
		p.tool(p.call("bash", `{"command":"ls"}`), "x")
		p.commit()
	}
	title := "Thirty calls"
	p.tool(p.call("bash", `{"command":"ls"}`), "x")
	p.commit(update(thread.StateUpdate{Title: &title}))
	s, err := e.root.JoinStream(e.ctx, "t", run, "-1")
	require.NoError(t, err)
	_, err = s.Until(e.ctx, func(f testkit.Frame) bool { return strings.Contains(f.Data, title) })
	require.NoError(t, err)
	s.Close()
}

func TestCrosses(t *testing.T) {
	t.Parallel()
	sent := 0
	for step := 3; step <= 600; step += 3 {
		if crosses(step-3, step) {
			sent++
		}
	}
	require.Less(t, sent, 30)
	require.True(t, crosses(31, 33))
	require.False(t, crosses(33, 36))
	require.True(t, crosses(36, 42))
}
