package crash

import (
	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// submitMoments are those around the submission of a run, in a thread's first
// turn.
func submitMoments() []moment {
	answered := always(list("human: the question", "ai: the answer"))
	return []moment{
		{
			name: "E13 the run is stored, its thread not told", point: failpoint.RunStored,
			kills: inAPI, fresh: true, posting: true,
			reply: says("the answer"), want: answered, paid: always(1),
		},
		{
			name: "E13 the thread has the run, the client not told", point: failpoint.RunTaken,
			kills: inAPI, fresh: true, posting: true,
			reply: func(s *scene, _ *testkit.Request, n int) testkit.Reply {
				if n == 1 {
					return testkit.Text("the answer").Before(testkit.Hold(s.gate))
				}
				return testkit.Text("the answer")
			},
			begin: func(s *scene) { <-s.gate.Reached() },
			want:  answered, paid: lost(2, 1),
		},
		{
			name: "the run is started, not reported, in the first turn", point: failpoint.RunStarted,
			kills: inWorker, fresh: true,
			reply: says("the answer"), want: answered, paid: always(1),
		},
	}
}
