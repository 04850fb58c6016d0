package change

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// looks is a script of some turns with a tool each.
func looks(turns int) func(*Script, *Gate) {
	return func(s *Script, _ *Gate) {
		s.Respond(func(r *Request) Reply {
			if r.Turn() >= turns {
				return Text("looked everywhere")
			}
			return ToolCalls(ls(fmt.Sprint("l", r.N), fmt.Sprintf("/mnt/user-data/%d", r.Turn())))
		})
	}
}

const shortHistories = "thread:\n  continue_as_new_events: 20"

func longShapes() []*shape {
	return []*shape{
		{name: "continued", config: shortHistories, script: looks(6), play: func(s *stage) {
			run := s.start(s.first)
			next := s.start(enqueued("and then?"))
			s.ends(run, "success")
			s.ends(next, "success")
			require.Greater(s.t, len(executions(s.ctx, s.t, s.c, s.id)), 1, "it continued as new")
			require.Len(s.t, texts(s.ctx, s.t, s.api, s.id), 2*(1+2*6+1))
		}},
		{name: "idle", config: "thread:\n  idle_timeout: 300ms", script: looks(1), play: func(s *stage) {
			s.say(s.first)
			require.Eventually(s.t, func() bool {
				return !running(s.ctx, s.t, s.c, s.id)
			}, patience, 20*time.Millisecond, "the workflow of an idle thread completes")
			s.say(SayWatched("and then?"))
			require.Len(s.t, executions(s.ctx, s.t, s.c, s.id), 2)
			require.Len(s.t, texts(s.ctx, s.t, s.api, s.id), 8)
		}},
		{name: "restored", alone: true, script: func(s *Script, _ *Gate) {
			s.Respond(onceAnswered(ToolCalls(ask("q", "Which?")), Text("answered")))
		}, play: func(s *stage) {
			s.say(s.first)
			s.earlier = executions(s.ctx, s.t, s.c, s.id)
			s.p.Kill9()
			loseTemporal(s.t, s.p)
			s.use(s.p.Restart(func(o *DevOptions) { o.Listen = s.p.Addr() }))
			s.say(Resume("this"))
			list := texts(s.ctx, s.t, s.api, s.id)
			require.Len(s.t, list, 5)
			require.Equal(s.t, "ai: answered", list[4])
		}},
		{name: "killed", alone: true, script: killedScript, play: func(s *stage) {
			run := s.start(s.first)
			s.held()
			queued := s.start(enqueued("stay in a command"))
			s.use(killed(s.p)) // the model streams, a run waits
			s.ends(run, "success")
			awaitFile(s.t, workspaceFile(s, "begun"))
			s.use(killed(s.p)) // a command runs
			s.ends(queued, "success")
			require.Equal(s.t, "begun\n", lines(s.t, workspaceFile(s, "begun")), "the command ran once")
			s.say(SayWatched("ask me"))
			s.use(killed(s.p)) // a question waits
			s.say(Resume("this"))
			list := texts(s.ctx, s.t, s.api, s.id)
			require.Equal(s.t, "ai: answered", list[len(list)-1])
		}},
	}
}

// killedScript answers what a thread says on its way through three kills.
func killedScript(s *Script, gate *Gate) {
	s.Enqueue(Text("cut here", WithChunks(4), At(2, Hold(gate))))
	s.Respond(func(r *Request) Reply {
		switch r.LastUser() {
		case "stay in a command":
			return ByTurn(ToolCalls(bash("stay", "echo begun >> begun; sleep 307.4")), Text("checked"))(r)
		case "ask me":
			return ToolCalls(ask("q", "Which?"))
		}
		return Text("answered")
	})
}
