package crash

import (
	"github.com/stretchr/testify/require"

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// cancelMoments are those while a run is being cancelled.
func cancelMoments() []moment {
	stopped := list("human: the question", "ai: the first attempt was*")
	return []moment{
		{
			name: "a stop is taken while the model streams", point: failpoint.CancelTaken, kills: inAPI, fleeting: true,
			reply: heldHalfway,
			begin: func(s *scene) {
				halfShown(s)
				s.stopUncommitted("interrupt")
			},
			status: "interrupted", want: always(stopped), paid: always(1),
		},
		{
			name: "C01 a stop is taken while tools run", point: failpoint.CancelTaken, kills: inAPI, fleeting: true,
			reply: stoppedTools, begin: stopTools("interrupt"),
			status: "interrupted",
			want:   always(list("human: the question", "ai:  >bash >ls", "tool: Error: *", "tool: *")),
			paid:   always(1), check: stopLeavesNothing,
		},
		{
			name: "a rollback is taken while tools run", point: failpoint.CancelTaken, kills: inAPI, fleeting: true,
			reply: stoppedTools, begin: stopTools("rollback"),
			status: "error", want: always[[]string](nil), paid: always(1), check: stopLeavesNothing,
		},
		{
			name: "a stop is stored, not acknowledged", point: failpoint.CommitStored, kills: inWorker,
			fresh: true, fleeting: true, endsBefore: true,
			reply: heldHalfway,
			begin: func(s *scene) {
				halfShown(s)
				require.NoError(s.t, s.api().CancelRun(patient(s.t), s.id, s.run, testkit.CancelOptions{}))
			},
			status: "interrupted", want: always(stopped), paid: always(1),
		},
	}
}

// stopUncommitted asks for a stop that the thread takes and does not store.
func (s *scene) stopUncommitted(action string) {
	s.t.Helper()
	s.sys.arm(s.t, failpoint.CommitBegun, s.id, 0)
	s.stop(action)
	s.sys.reached(s.t, failpoint.CommitBegun, s.id, s.posted)
}

func stoppedTools(s *scene, _ *testkit.Request, _ int) testkit.Reply {
	return testkit.ToolCalls(bash("c1", s.longCommand("effect.txt")), ls("c2", "/mnt/user-data"))
}

// stopTools stops a run when its command runs and its other call has ended.
func stopTools(action string) func(*scene) {
	return func(s *scene) {
		s.awaitFile("effect.txt")
		require.Eventually(s.t, func() bool { return len(s.messages()) >= len(s.history)+3 }, patience, 10*tick, "the read has ended")
		s.stopUncommitted(action)
	}
}

func stopLeavesNothing(s *scene, v victims) {
	oneLine("effect.txt", 1)(s, v)
	require.Eventually(s.t, func() bool { return !commandRuns("sleep", s.seconds()) }, patience, tick, "the command lives on")
}
