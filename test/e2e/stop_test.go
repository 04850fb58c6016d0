package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

func TestStopClosesTheModelRequestAndKeepsTheText(t *testing.T) {
	t.Parallel()
	inBothShapes(t, stopClosesTheModelRequestAndKeepsTheText)
}

func stopClosesTheModelRequestAndKeepsTheText(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.Enqueue(
		testkit.Text("this much was on the screen and then", testkit.WithChunks(6), testkit.At(4, testkit.Hold(gate))),
		testkit.Text("I go on."),
	)
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	api := p.API()
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := api.StreamRun(ctx, thread.ThreadID, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer stream.Close()
	<-gate.Reached()
	var tr transcript
	_, err = stream.Until(ctx, func(f testkit.Frame) bool {
		tr.read(t, f)
		return len(tr.of("ai")) > 0 && strings.Contains(tr.of("ai")[0], "this much")
	})
	require.NoError(t, err)
	require.NoError(t, api.CancelRun(ctx, thread.ThreadID, stream.RunID(), testkit.CancelOptions{Wait: true}))
	select {
	case <-m.Requests()[0].Closed():
	case <-ctx.Done():
		t.Fatal("M04: the model request was not closed")
	}
	rest, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	for _, f := range rest {
		require.NotEqual(t, "error", f.Event)
	}
	run, err := api.Run(ctx, thread.ThreadID, stream.RunID())
	require.NoError(t, err)
	require.Equal(t, "interrupted", run.Status)
	list := messages(t, api, thread.ThreadID)
	require.Len(t, list, 2)
	require.Contains(t, list[1].Text(), "this much", "E01: the text that was shown stays")
	err = api.CancelRun(ctx, thread.ThreadID, stream.RunID(), testkit.CancelOptions{Wait: true})
	require.True(t, err == nil || testkit.StatusOf(err) == 409, "a late stop is refused or swallowed: %v", err)
	_, err = api.WaitRun(ctx, thread.ThreadID, testkit.SayWatched("go on"))
	require.NoError(t, err)
	require.Len(t, messages(t, api, thread.ThreadID), 4)
}

func TestStopWhileACommandRunsEndsItsProcessGroup(t *testing.T) {
	t.Parallel()
	inBothShapes(t, stopWhileACommandRunsEndsItsProcessGroup)
}

func stopWhileACommandRunsEndsItsProcessGroup(t *testing.T, start func(string) *system) {
	t.Helper()
	first, second := seconds(t, "301.3"), seconds(t, "301.4")
	m := testkit.NewModel(t)
	m.Enqueue(
		testkit.ToolCalls(
			testkit.Call{ID: "c1", Name: "bash", Args: map[string]any{"description": "wait", "command": "sleep " + first + " & sleep " + second}},
			testkit.Call{ID: "c2", Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data"}},
		),
		testkit.Text("We can go on."),
	)
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	api := p.API()
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	run, err := api.CreateRun(ctx, thread.ThreadID, testkit.SayWatched("start it"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return commandRuns("sleep", first) && commandRuns("sleep", second) }, patience, tick)
	require.NoError(t, api.CancelRun(ctx, thread.ThreadID, run.RunID, testkit.CancelOptions{Wait: true}))
	require.Eventually(t, func() bool { return !commandRuns("sleep", first) && !commandRuns("sleep", second) }, patience, tick,
		"B01: both processes of the group are gone")
	_, err = api.WaitRun(ctx, thread.ThreadID, testkit.SayWatched("go on"))
	require.NoError(t, err, "B01: the next request is valid")
	list := messages(t, api, thread.ThreadID)
	require.Equal(t, "We can go on.", list[len(list)-1].Text())
}
