package stop

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// marked matches processes that have a text among their arguments, wherever
// they belong by now.
func marked(text string) func(testkit.Proc) bool {
	return func(p testkit.Proc) bool { return strings.Contains(strings.Join(p.Args, " "), text) }
}

// Commands that do not want to end.
var stubborn = map[string]string{
	"one that ignores TERM":              `trap '' TERM; touch started; while :; do sleep MARK; done`,
	"one with children in its group":     `sleep MARK & sleep MARK & touch started; wait`,
	"one whose children ignore TERM":     `(trap '' TERM; sleep MARK; sleep MARK) & touch started; wait`,
	"one that writes for ever":           `touch started; yes MARK`,
	"one with a child in its session":    `setsid --fork sleep MARK; touch started; sleep MARK`,
	"one whose child leaves and ignores": `setsid --fork bash -c "trap '' TERM; sleep MARK; sleep MARK"; touch started; sleep MARK`,
}

func TestStopEndsCommandsThatDoNotWantTo(t *testing.T) {
	t.Parallel()
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := markOf(t)
			m := testkit.NewModel(t)
			m.Enqueue(testkit.ToolCalls(bash("c1", strings.ReplaceAll(line, "MARK", mark))))
			p := startDev(t, testkit.ConfigFor(m))
			id := p.newThread(t)
			run := p.start(t, id, "work")
			awaitFile(t, filepath.Join(p.workspace(id), "started"))
			require.Eventually(t, func() bool { return len(testkit.Live(marked(mark))) > 0 }, patience, tick)
			w := watch(t)
			require.NoError(t, p.api.CancelRun(patient(t), id, run, testkit.CancelOptions{}))
			w.within(soon, "everything the command had started was gone", func() bool { return len(testkit.Live(marked(mark))) == 0 })
			p.awaitInterrupted(t, id, run)
			p.goesOn(t, m, id)
		})
	}
}

// A worker is killed while its commands run: what they have started does not
// outlive the next start, and most of it not even the worker.
func TestCommandsDoNotOutliveAKilledWorker(t *testing.T) {
	t.Parallel()
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := markOf(t)
			m := testkit.NewModel(t)
			m.Respond(testkit.ByTurn(
				testkit.ToolCalls(bash("c1", strings.ReplaceAll(line, "MARK", mark))),
				testkit.Text("I looked first."),
			))
			dev := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m)})
			p := product{api: dev.API(), dataDir: dev.DataDir}
			id := p.newThread(t)
			run := p.start(t, id, "work")
			awaitFile(t, filepath.Join(p.workspace(id), "started"))
			require.Eventually(t, func() bool { return len(testkit.Live(marked(mark))) > 0 }, patience, tick)
			dev.Kill9()
			dev = dev.Restart()
			p.api = dev.API()
			require.Empty(t, testkit.Live(marked(mark)), "a start sweeps before it is ready")
			_, err := p.api.AwaitRun(patient(t), id, run, "success")
			require.NoError(t, err)
			list := p.messages(t, id)
			require.Contains(t, list[2].Text(), "may have run")
			p.goesOn(t, m, id)
		})
	}
}

func TestStopWhileToolsRunInParallel(t *testing.T) {
	t.Parallel()
	marks := []string{markOf(t) + "1", markOf(t) + "2", markOf(t) + "3"}
	m := testkit.NewModel(t)
	m.Enqueue(testkit.ToolCalls(
		bash("c1", "sleep "+marks[0]), bash("c2", "echo first; sleep "+marks[1]),
		testkit.Call{ID: "c3", Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data"}},
		bash("c4", "trap '' TERM; while :; do sleep "+marks[2]+"; done"),
	))
	p := startDev(t, testkit.ConfigFor(m))
	id := p.newThread(t)
	run := p.start(t, id, "work")
	alive := func() int {
		n := 0
		for _, mark := range marks {
			if len(testkit.Live(marked(mark))) > 0 {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return alive() == len(marks) && len(p.messages(t, id)) == 3 }, patience, tick,
		"three commands run, and ls has its result")
	w := watch(t)
	require.NoError(t, p.api.CancelRun(patient(t), id, run, testkit.CancelOptions{}))
	w.within(soon, "all commands were gone", func() bool { return alive() == 0 })
	p.awaitInterrupted(t, id, run)
	list := p.messages(t, id)
	require.Len(t, list, 6, "each call has a result")
	byCall := map[string]testkit.Message{}
	for _, x := range list[2:] {
		byCall[x.ToolCallID] = x
	}
	require.Equal(t, "success", byCall["c3"].Status, "what had ended keeps its result")
	for _, id := range []string{"c1", "c2", "c4"} {
		require.Equal(t, "error", byCall[id].Status)
		require.Contains(t, byCall[id].Text(), "stopped by the user")
	}
	p.goesOn(t, m, id)
}

// markOf is a time that the commands of no other test sleep.
func markOf(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("3600.%d%d", os.Getpid(), crc32.ChecksumIEEE([]byte(t.Name())))
}
