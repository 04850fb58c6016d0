package crash

import (
	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// moment is one at which the product is killed, with what must hold afterwards.
type moment struct {
	name string
	// point is where a call of the product stands still; empty for a moment that
	// shows outside, which begin waits for. passing calls go by first.
	point   failpoint.Point
	passing int
	// kills are the parts that are killed when they are processes of their own, one
	// set a try.
	kills []victims
	// fresh: the thread has had no run before.
	fresh bool
	// posting: the client is not answered, and asks again after the restart.
	posting bool
	// fleeting: the product does not stand still for long, so the kill has to come
	// at once.
	fleeting bool
	// endsBefore: the run has ended, for its reader, at the moment.
	endsBefore bool
	// twice: the product is killed once more as soon as it is back.
	twice bool

	// reply is the model's part: n counts the requests of the scene, from 1.
	reply func(s *scene, r *testkit.Request, n int) testkit.Reply
	// begin does more than to start the run, up to the moment; nil for most.
	begin func(s *scene)
	// after is what the client does after the restart; nil for nothing.
	after func(s *scene)

	status string // of the run in the end; empty means success
	// want are the messages of the scene in the end, as shape gives them; one that
	// ends with * may be longer.
	want func(v victims) []string
	// paid is how many requests the model gets for the scene in all.
	paid func(v victims) int
	// check looks at what else must hold; nil for nothing.
	check func(s *scene, v victims)
}

// always gives the same for all victims.
func always[T any](value T) func(victims) T {
	return func(victims) T { return value }
}

// lost gives the one when the worker was killed, and else the other.
func lost[T any](killed, alive T) func(victims) T {
	return func(v victims) T {
		if v.worker {
			return killed
		}
		return alive
	}
}

func list(items ...string) []string { return items }

// Which parts are killed, for moments of the worker, of the API, and for those
// at which both have something to lose.
var (
	inWorker = []victims{killWorker, killAll}
	inAPI    = []victims{killAPI, killAll}
	anywhere = []victims{killWorker, killAPI, killAll}
)

// moments is the table.
func moments() []moment {
	var all []moment
	for _, group := range [][]moment{submitMoments(), modelMoments(), toolMoments(), turnMoments(), questionMoments(), cancelMoments()} {
		all = append(all, group...)
	}
	return all
}

func says(text string) func(*scene, *testkit.Request, int) testkit.Reply {
	return func(*scene, *testkit.Request, int) testkit.Reply { return testkit.Text(text, testkit.WithChunks(3)) }
}

// turns answers turn by turn, whatever was lost.
func turns(replies ...testkit.Reply) func(*scene, *testkit.Request, int) testkit.Reply {
	byTurn := testkit.ByTurn(replies...)
	return func(_ *scene, r *testkit.Request, _ int) testkit.Reply { return byTurn(r) }
}

func call(id, name string, args map[string]any) testkit.Call {
	args["description"] = "as the test says"
	return testkit.Call{ID: id, Name: name, Args: args}
}

func bash(id, command string) testkit.Call {
	return call(id, "bash", map[string]any{"command": command})
}

func ls(id, path string) testkit.Call {
	return call(id, "ls", map[string]any{"path": path})
}

func appendTo(id, name, text string) testkit.Call {
	return call(id, "write_file", map[string]any{"path": "/mnt/user-data/workspace/" + name, "content": text, "append": true})
}
