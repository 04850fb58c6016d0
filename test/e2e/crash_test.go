package e2e

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// restarted starts the product again at the same address, on the same data.
func restarted(p *testkit.Process) *testkit.Process {
	return p.Restart(func(o *testkit.DevOptions) { o.Listen = p.Addr() })
}

func TestKilledWhileTheModelStreams(t *testing.T) {
	t.Parallel()
	inBothShapes(t, killedWhileTheModelStreams)
}

func killedWhileTheModelStreams(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.Enqueue(
		testkit.Text("the first attempt was cut off in the middle of its answer", testkit.WithChunks(12), testkit.At(6, testkit.Hold(gate))),
		testkit.Text("the second attempt is whole", testkit.WithChunks(4)),
		testkit.Text("and the thread lives on"),
	)
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	thread, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, thread.ThreadID, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer stream.Close()
	<-gate.Reached()
	var tr transcript
	before, err := stream.Until(ctx, func(f testkit.Frame) bool {
		tr.read(t, f)
		return len(tr.of("ai")) > 0 && strings.Contains(tr.of("ai")[0], "first attempt")
	})
	require.NoError(t, err)

	p.Kill9()
	gate.Release()
	p.Restart()
	again, err := stream.Reconnect(ctx)
	require.NoError(t, err)
	defer again.Close()
	after, err := again.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)

	tr.read(t, after...)
	noDoubles(t, append(before, after...))
	require.Equal(t, []string{"the second attempt is whole"}, tr.of("ai"), "A23: the reader ends with the second text alone")
	require.Equal(t, []string{"human: tell me", "ai: the second attempt is whole"}, shape(messages(t, p.API(), thread.ThreadID)))
	_, err = p.API().WaitRun(ctx, thread.ThreadID, testkit.SayWatched("still there?"))
	require.NoError(t, err)
	require.Len(t, messages(t, p.API(), thread.ThreadID), 4)
	require.Len(t, m.Requests(), 3, "the lost call was made once more, and only once")
}

func TestKilledWhileACommandRuns(t *testing.T) {
	t.Parallel()
	inBothShapes(t, killedWhileACommandRuns)
}

func killedWhileACommandRuns(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	m.Respond(testkit.ByTurn(
		testkit.ToolCalls(testkit.Call{ID: "c1", Name: "bash", Args: map[string]any{
			"description": "append a line and stay", "command": "echo once >> effect.txt; sleep " + seconds(t, "300.7"),
		}}),
		testkit.Text("I checked before repeating it."),
	))
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	thread, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, thread.ThreadID, testkit.SayWatched("do it"))
	require.NoError(t, err)
	defer stream.Close()
	log := filepath.Join(p.DataDir(), "users", "default", "threads", thread.ThreadID, "user-data", "workspace", "effect.txt")
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(log)
		return err == nil && len(data) > 0
	}, patience, 5*time.Millisecond, "the command has begun")
	before, err := stream.Until(ctx, testkit.IsEvent("messages"))
	require.NoError(t, err)

	p.Kill9()
	p.Restart()
	again, err := stream.Reconnect(ctx)
	require.NoError(t, err)
	defer again.Close()
	after, err := again.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	noDoubles(t, append(before, after...))

	list := messages(t, p.API(), thread.ThreadID)
	require.Len(t, list, 4)
	require.Contains(t, list[2].Text(), "may have run", "M03: the model is told")
	require.Equal(t, "I checked before repeating it.", list[3].Text())
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "once\n", string(data), "M03: the command ran once")
	require.Eventually(t, func() bool { return !commandRuns("sleep", seconds(t, "300.7")) }, patience, 10*time.Millisecond, "the command does not live on")
}

func TestKilledWhileAQuestionWaits(t *testing.T) {
	t.Parallel()
	inBothShapes(t, killedWhileAQuestionWaits)
}

func killedWhileAQuestionWaits(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	m.Respond(onceAnswered(
		testkit.ToolCalls(testkit.Call{ID: "q1", Name: "ask_clarification", Args: map[string]any{
			"question": "For whom is it?", "clarification_type": "missing_info", "options": []string{"engineers", "managers"},
		}}),
		testkit.Text("A report for engineers."),
	))
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	thread, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, thread.ThreadID, testkit.SayWatched("write a report"))
	require.NoError(t, err)
	defer stream.Close()
	frames, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	require.Contains(t, frames[len(frames)-2].Data+frames[len(frames)-3].Data, "__interrupt__")
	state, err := p.API().Thread(ctx, thread.ThreadID)
	require.NoError(t, err)
	require.Equal(t, "interrupted", state.Status)

	p.Kill9()
	p.Restart()
	state, err = p.API().Thread(ctx, thread.ThreadID)
	require.NoError(t, err)
	require.Equal(t, "interrupted", state.Status, "the question goes on waiting")
	replayed, err := p.API().JoinStream(ctx, thread.ThreadID, stream.RunID(), "-1")
	require.NoError(t, err)
	defer replayed.Close()
	same, err := replayed.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	require.Len(t, same, len(frames), "a reader gets the same frames after the restart")

	resume := testkit.Resume("engineers")
	resume.StreamMode = testkit.WatchModes()
	answer, err := p.API().StreamRun(ctx, thread.ThreadID, resume)
	require.NoError(t, err)
	defer answer.Close()
	_, err = answer.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	list := messages(t, p.API(), thread.ThreadID)
	require.Len(t, list, 5, "question, call, card, answer, report: %v", shape(list))
	require.Equal(t, "A report for engineers.", list[4].Text())
	require.Len(t, m.Requests(), 2)
}

// seconds is a time that the commands of no other test sleep.
func seconds(t *testing.T, base string) string {
	t.Helper()
	return base + strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(t.Name()))), 10)
}

// commandRuns looks for a live process with these arguments; zombies do not
// count.
func commandRuns(args ...string) bool {
	want := strings.Join(args, "\x00") + "\x00"
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && string(cmdline) == want {
			return true
		}
	}
	return false
}
