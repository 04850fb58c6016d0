package change

import (
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

const tick = 10 * time.Millisecond

// holdsOnce is a script whose first answer holds in its middle.
func holdsOnce(s *Script, gate *Gate) {
	s.Enqueue(Text("cut here and no further", WithChunks(4), At(2, Hold(gate))))
	s.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
}

func stoppedShapes() []*shape {
	return []*shape{
		{name: "cancel", play: func(s *stage) {
			run := s.start(s.first)
			s.held()
			s.stop(run, "interrupt")
			s.say(SayWatched("go on"))
		}},
		{name: "rollback", play: func(s *stage) {
			run := s.start(s.first)
			s.held()
			s.stop(run, "rollback")
			s.say(s.first)
			s.has("ai: answer to " + s.mark)
		}},
		{name: "interrupt", play: func(s *stage) {
			run := s.start(s.first)
			s.held()
			s.say(with(SayWatched("this instead"), "interrupt"))
			s.ends(run, "interrupted")
		}},
		{name: "queue", play: func(s *stage) {
			s.start(s.first)
			s.held()
			one, two, three := s.start(enqueued("one")), s.start(enqueued("two")), s.start(enqueued("three"))
			require.NoError(s.t, s.api.CancelRun(s.ctx, s.id, two.RunID, CancelOptions{}))
			s.gate.Release()
			s.ends(one, "success")
			s.ends(three, "success")
			s.has("ai: cut here and no further", "human: one", "ai: answer to one", "human: three", "ai: answer to three")
		}},
		{name: "stopped-tool", script: func(s *Script, _ *Gate) {
			s.Respond(func(r *Request) Reply {
				if _, done := r.ToolResult("stay"); done {
					return Text("went on")
				}
				return ToolCalls(ls("look", "/mnt/user-data"), bash("stay", "echo begun >> begun; sleep 306.2"))
			})
		}, play: func(s *stage) {
			run := s.start(s.first)
			awaitFile(s.t, workspaceFile(s, "begun"))
			s.stop(run, "interrupt")
			s.say(SayWatched("go on"))
		}},
		{name: "retry-after", slow: true, script: pausedOnce, play: func(s *stage) { s.say(s.first) }},
		{name: "retry-after-stopped", script: pausedOnce, play: func(s *stage) {
			run := s.start(s.first)
			require.Eventually(s.t, func() bool {
				list := executions(s.ctx, s.t, s.c, s.id)
				return timers(list[0].history, "asks to wait") > 0
			}, patience, 20*time.Millisecond, "the pause is a timer")
			s.stop(run, "interrupt")
			s.say(SayWatched("go on"))
		}},
	}
}

// pausedOnce asks for a pause that is a timer of the workflow.
func pausedOnce(s *Script, _ *Gate) {
	s.Enqueue(APIError(429, "rate_limit_exceeded", "too fast", "Retry-After: 61"))
	s.Always(Text("rested"))
}
