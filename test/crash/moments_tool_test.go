package crash

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

const mayHaveRun = "Error: the worker was lost while bash ran. It may have run*"

// asks is a run that calls a tool, then answers.
func asks(name, result string) func(victims) []string {
	return always(list("human: the question", "ai:  >"+name, "tool: "+result, "ai: done"))
}

// oneLine checks that the effect of a tool is there so many times.
func oneLine(file string, times int) func(*scene, victims) {
	return func(s *scene, _ victims) {
		require.Len(s.t, s.lines(file), times, "%s: what the tool did", file)
	}
}

// longCommand writes a line and stays; another is written if it is let live.
func (s *scene) longCommand(file string) string {
	return "echo once >> " + file + "; sleep " + s.seconds() + "; echo twice >> " + file
}

// seconds is a time that the commands of no other scene sleep.
func (s *scene) seconds() string {
	return "300." + strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(s.id))), 10)
}

// toolMoments are those around a tool call.
func toolMoments() []moment {
	once := func(*scene) testkit.Call { return bash("c1", "echo once >> effect.txt") }
	return []moment{
		{
			name: "a read has begun", point: failpoint.ToolBegun, kills: inWorker,
			reply: turns(testkit.ToolCalls(ls("c1", "/mnt/user-data")), testkit.Text("done")),
			want:  asks("ls", "*"), paid: always(2),
		},
		{
			name: "M03 an append is done, its result not stored", point: failpoint.ToolDone, kills: inWorker,
			reply: turns(testkit.ToolCalls(appendTo("c1", "effect.txt", "once\n")), testkit.Text("done")),
			want:  asks("write_file", "OK"), paid: always(2), check: oneLine("effect.txt", 1),
		},
		{
			name: "M03 a replacement is done, its result not stored", point: failpoint.ToolDone, passing: 2, kills: inWorker,
			reply: turns(
				testkit.ToolCalls(appendTo("c1", "effect.txt", "old\n")),
				testkit.ToolCalls(call("r1", "read_file", map[string]any{"path": "/mnt/user-data/workspace/effect.txt"})),
				testkit.ToolCalls(call("c2", "str_replace", map[string]any{"path": "/mnt/user-data/workspace/effect.txt", "old_str": "old", "new_str": "older"})),
				testkit.Text("done")),
			want: always(list("human: the question", "ai:  >write_file", "tool: OK", "ai:  >read_file", "tool: old", "ai:  >str_replace", "tool: OK", "ai: done")),
			paid: always(4),
			check: func(s *scene, _ victims) {
				require.Equal(s.t, []string{"older"}, s.lines("effect.txt"), "replaced once")
			},
		},
		{
			name: "M03 a command is claimed, not started", point: failpoint.ToolBegun, kills: inWorker,
			reply: commanded(once), want: asks("bash", mayHaveRun), paid: always(2), check: oneLine("effect.txt", 0),
		},
		{
			name: "M03 a command runs", kills: inWorker,
			reply: commanded(func(s *scene) testkit.Call { return bash("c1", s.longCommand("effect.txt")) }),
			begin: func(s *scene) { s.awaitFile("effect.txt") },
			want:  asks("bash", mayHaveRun), paid: always(2),
			check: func(s *scene, v victims) {
				oneLine("effect.txt", 1)(s, v)
				require.Eventually(s.t, func() bool { return !commandRuns("sleep", s.seconds()) }, patience, tick, "the command lives on")
			},
		},
		{
			name: "M03 a command is done, its result not stored", point: failpoint.ToolDone, kills: inWorker,
			reply: commanded(once), want: asks("bash", mayHaveRun), paid: always(2), check: oneLine("effect.txt", 1),
		},
		{
			name: "the result of a command is stored, not reported", point: failpoint.ToolStored, kills: inWorker,
			reply: commanded(once), want: asks("bash", "(no output)*"), paid: always(2), check: oneLine("effect.txt", 1),
		},
		batchMoment(),
	}
}

// commanded runs one command.
func commanded(command func(s *scene) testkit.Call) func(*scene, *testkit.Request, int) testkit.Reply {
	return func(s *scene, r *testkit.Request, _ int) testkit.Reply {
		return testkit.ByTurn(testkit.ToolCalls(command(s)), testkit.Text("done"))(r)
	}
}

// batchMoment has tools of all classes in parallel.
func batchMoment() moment {
	return moment{
		name: "M03 tools run in parallel, and a second kill", kills: inWorker, twice: true,
		reply: func(s *scene, r *testkit.Request, _ int) testkit.Reply {
			return testkit.ByTurn(testkit.ToolCalls(
				bash("c1", s.longCommand("one.txt")), ls("c2", "/mnt/user-data"), appendTo("c3", "written.txt", "line\n"), bash("c4", s.longCommand("two.txt")),
			), testkit.Text("done"))(r)
		},
		begin: func(s *scene) {
			for _, file := range []string{"one.txt", "two.txt", "written.txt"} {
				s.awaitFile(file)
			}
		},
		want: always(list("human: the question", "ai:  >bash >ls >write_file >bash",
			"tool: "+mayHaveRun, "tool: *", "tool: OK", "tool: "+mayHaveRun, "ai: done")),
		paid: always(2),
		check: func(s *scene, v victims) {
			for _, file := range []string{"one.txt", "two.txt", "written.txt"} {
				oneLine(file, 1)(s, v)
			}
			require.Eventually(s.t, func() bool { return !commandRuns("sleep", s.seconds()) }, patience, tick, "a command lives on")
		},
	}
}

// commandRuns looks for a live process with these arguments; zombies do not
// count, they have none.
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
