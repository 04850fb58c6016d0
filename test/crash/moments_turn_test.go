package crash

import (
	"fmt"

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// turnMoments are those between turns, at a run's end, and while the workflow
// continues as new.
func turnMoments() []moment {
	looks := turns(testkit.ToolCalls(ls("c1", "/mnt/user-data")), testkit.Text("done"))
	return []moment{
		{
			name: "between two turns", point: failpoint.ModelBegun, passing: 1, kills: inWorker,
			reply: looks, want: asks("ls", "*"), paid: always(2),
		},
		{
			name: "the commit of a turn is written, not acknowledged", point: failpoint.CommitRode, kills: inWorker,
			reply: looks, want: asks("ls", "*"), paid: always(2),
		},
		{
			name: "the last commit has begun, nothing is written", point: failpoint.CommitBegun, kills: inWorker,
			fresh: true, fleeting: true,
			reply: says("the answer"), want: always(list("human: the question", "ai: the answer")), paid: always(1),
		},
		{
			name: "the last commit is written, not acknowledged", point: failpoint.CommitStored, kills: inWorker,
			fresh: true, fleeting: true, endsBefore: true,
			reply: says("the answer"), want: always(list("human: the question", "ai: the answer")), paid: always(1),
		},
		continuing("M08 the workflow has decided to continue as new", failpoint.Continuing),
		continuing("M08 the workflow has continued as new", failpoint.Continued),
	}
}

// longTurns is how many turns a run takes that comes to a continue-as-new in the
// middle.
const longTurns = 12

// continuing is a long run, with others that wait behind it.
func continuing(name string, point failpoint.Point) moment {
	messages := list("human: the question")
	for range longTurns {
		messages = append(messages, "ai:  >ls >glob", "tool: *", "tool: *")
	}
	messages = append(messages, "ai: done", "human: plain: one", "ai: re: one", "human: plain: two", "ai: re: two")
	return moment{
		name: name, point: point, kills: inWorker, fresh: true, fleeting: true,
		reply: func(s *scene, r *testkit.Request, n int) testkit.Reply {
			turn := r.Turn()
			if turn == longTurns {
				return testkit.Text("done")
			}
			reply := testkit.ToolCalls(
				ls(fmt.Sprintf("l%d", turn), fmt.Sprintf("/mnt/user-data/%d", turn)),
				call(fmt.Sprintf("g%d", turn), "glob", map[string]any{"path": "/mnt/user-data", "pattern": fmt.Sprintf("*.%d", turn)}),
			)
			if n == 1 {
				return reply.Before(testkit.Hold(s.gate)) // until others wait
			}
			return reply
		},
		begin: func(s *scene) {
			<-s.gate.Reached()
			s.enqueue("one")
			s.enqueue("two")
			s.gate.Release()
		},
		want: always(messages), paid: always(longTurns + 1),
	}
}
