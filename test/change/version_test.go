package change

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
	. "deerflow/internal/testkit"
	"deerflow/workflows"
)

// nextVersion is that of the loop in [NextBinary].
const nextVersion = workflows.LoopVersion + 1

// upgrade is a product whose program changes under its threads.
type upgrade struct {
	t    *testing.T
	m    *Model
	p    *Process
	all  map[string]*lane
	want map[string]int // version of a run, by its id
}

// lane is one thread of it.
type lane struct {
	*stage
	runs []Run
}

func newUpgrade(t *testing.T, o DevOptions) *upgrade {
	t.Helper()
	m := NewModel(t)
	o.Config = ConfigFor(m, shortHistories)
	return &upgrade{t: t, m: m, p: StartDev(t, o), all: map[string]*lane{}, want: map[string]int{}}
}

// thread makes a thread whose requests a script answers.
func (u *upgrade) thread(name string, script func(*Script, *Gate)) *lane {
	u.t.Helper()
	l := &lane{stage: newStage(u.t, u.m, u.p, &shape{name: name, script: script})}
	u.all[name] = l
	return l
}

// submits starts a run that has to go by a version.
func (u *upgrade) submits(l *lane, r RunRequest, version int) Run {
	u.t.Helper()
	run := l.start(r)
	l.runs = append(l.runs, run)
	u.want[run.RunID] = version
	return run
}

// becomes kills the program and starts another one on its data.
func (u *upgrade) becomes(binary string) {
	u.t.Helper()
	u.p = killed(u.p, func(o *DevOptions) { o.BinaryPath = binary })
	for _, l := range u.all {
		l.renewed(u.p)
	}
}

// renewed goes on with a process whose workflows may fail, as those do whose
// work is left to a newer program.
func (s *stage) renewed(p *Process) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	s.ctx, s.p, s.api, s.c = ctx, p, p.API(), dial(s.t, p.Temporal)
}

// versions checks by which version of the loop each run went.
func (u *upgrade) versions() {
	u.t.Helper()
	u.p.Stop()
	st, err := store.Open(u.t.Context(), store.Options{Path: filepath.Join(u.p.DataDir, "deerflow.db")})
	require.NoError(u.t, err)
	for name, l := range u.all {
		for n, run := range l.runs {
			row, err := st.GetRun(u.t.Context(), l.id, run.RunID)
			require.NoError(u.t, err)
			require.Equal(u.t, u.want[run.RunID], row.LoopVersion, "%s, run %d", name, n+1)
		}
	}
	require.NoError(u.t, st.Close())
}

// checkHistories checks that no history of a thread was at odds with the code
// that replayed it, and counts the turns that the next version took. Workflows
// that left their work to a newer program are the only ones that may have failed.
func (l *lane) checkHistories() (turns, left int) {
	l.t.Helper()
	for n, e := range executions(l.ctx, l.t, l.c, l.id) {
		for _, fault := range faults(e.history) {
			require.Contains(l.t, fault, "it was begun by a newer one", "workflow run %d", n+1)
			require.Contains(l.t, fault, "workflow failed", "workflow run %d", n+1)
			left++
		}
		turns += timers(e.history, fmt.Sprintf("a turn of loop version %d", nextVersion))
	}
	return turns, left
}

func heldAnswer(s *Script, gate *Gate) { holdsOnce(s, gate) }

// looksThenHolds takes turns with a tool each; the answer after them holds.
func looksThenHolds(turns int) func(*Script, *Gate) {
	return func(s *Script, gate *Gate) {
		s.Respond(func(r *Request) Reply {
			switch {
			case !strings.Contains(r.LastUser(), "shape: "):
				return Text("answer to " + r.LastUser())
			case r.Turn() < turns:
				return ToolCalls(ls(fmt.Sprintf("l%d", r.Turn()), fmt.Sprintf("/mnt/user-data/%d", r.Turn())))
			}
			return Text("looked everywhere", WithChunks(4), At(2, Hold(gate)))
		})
	}
}

func asksOnce(s *Script, _ *Gate) {
	s.Respond(func(r *Request) Reply {
		switch {
		case r.LastUser() == "and then?":
			return Text("answer to " + r.LastUser())
		case AnyMessage("my answer is: ")(r):
			return ByTurn(ToolCalls(ls("l", "/mnt/user-data")), Text("answered"))(r)
		}
		return ToolCalls(ask("q", "Which?"))
	})
}

func staysInACommand(s *Script, _ *Gate) {
	s.Respond(ByTurn(ToolCalls(bash("stay", "echo begun >> begun; sleep 308.6")), Text("checked")))
}

// Runs that have begun before an upgrade end by the rules that they began with,
// wherever they stood; runs that begin after it go by the new ones.
func TestUpgradeUnderRuns(t *testing.T) {
	t.Parallel()
	const old = workflows.LoopVersion
	u := newUpgrade(t, DevOptions{})
	streams := u.thread("mid-model", heldAnswer)
	u.submits(streams, streams.first, old)
	streams.held()
	continued := u.thread("after-continue-as-new", looksThenHolds(6))
	u.submits(continued, continued.first, old)
	continued.held()
	require.Greater(t, len(executions(continued.ctx, t, continued.c, continued.id)), 1)
	asks := u.thread("waits-with-a-question", asksOnce)
	asks.ends(u.submits(asks, asks.first, old), "success")
	works := u.thread("in-a-tool", staysInACommand)
	u.submits(works, works.first, old)
	awaitFile(t, workspaceFile(works.stage, "begun"))
	queues := u.thread("queued", heldAnswer)
	u.submits(queues, queues.first, old)
	queues.held()
	u.submits(queues, enqueued("one"), nextVersion)
	u.submits(queues, enqueued("two"), nextVersion)
	rests := u.thread("idle", looks(2))
	rests.ends(u.submits(rests, rests.first, old), "success")

	u.becomes(NextBinary(t))
	for _, l := range u.all {
		l.gate.Release()
	}
	for _, l := range []*lane{streams, continued, works, queues} {
		for _, run := range l.runs {
			l.ends(run, "success")
		}
	}
	require.Equal(t, "begun\n", lines(t, workspaceFile(works.stage, "begun")))
	asks.ends(u.submits(asks, Resume("this"), old), "success")
	rests.ends(u.submits(rests, SayWatched("and then?"), nextVersion), "success")
	fresh := u.thread("begun-after", looks(2))
	fresh.ends(u.submits(fresh, fresh.first, nextVersion), "success")

	for l, want := range map[*lane]int{streams: 0, continued: 0, works: 0, asks: 0, queues: 2, rests: 3, fresh: 3} {
		turns, left := l.checkHistories()
		require.Equal(t, want, turns, "%s: turns by the new rules", l.mark)
		require.Zero(t, left, l.mark)
	}
	continued.has(continuedTexts()...)
	queues.has("ai: answer to "+queues.mark, "human: one", "ai: answer to one", "human: two", "ai: answer to two")
	u.versions()
}

func continuedTexts() []string {
	var out []string
	for n := range 6 {
		out = append(out, "ai: ", fmt.Sprintf("tool: Error: Directory not found: /mnt/user-data/%d", n))
	}
	return append(out, "ai: looked everywhere")
}

// After a downgrade, what the newer version has begun is left alone and said so;
// it can be stopped, and goes on when the newer version is back. Everything else
// works.
func TestDowngradeUnderRuns(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t, DevOptions{})
	begun := u.thread("begun-before-both", asksOnce)
	begun.ends(u.submits(begun, begun.first, workflows.LoopVersion), "success")

	u.becomes(NextBinary(t))
	first := u.thread("in-its-first-turn", heldAnswer)
	u.submits(first, first.first, nextVersion)
	first.held()
	streams := u.thread("mid-model", looksThenHolds(2))
	u.submits(streams, streams.first, nextVersion)
	streams.held()
	stopped := u.thread("to-be-stopped", looksThenHolds(2))
	u.submits(stopped, stopped.first, nextVersion)
	stopped.held()
	asks := u.thread("waits-with-a-question", asksOnce)
	asks.ends(u.submits(asks, asks.first, nextVersion), "success")
	queues := u.thread("queued", heldAnswer)
	u.submits(queues, queues.first, nextVersion)
	queues.held()
	u.submits(queues, enqueued("one"), nextVersion)
	rests := u.thread("idle", looks(1))
	rests.ends(u.submits(rests, rests.first, nextVersion), "success")

	u.becomes(Binary(t))
	for _, l := range u.all {
		l.gate.Release()
	}
	for _, l := range []*lane{first, streams, stopped, asks, queues} {
		l.refuses(SayWatched("and then?"))
	}
	begun.ends(u.submits(begun, Resume("this"), workflows.LoopVersion), "success")
	rests.ends(u.submits(rests, SayWatched("and then?"), workflows.LoopVersion), "success")
	stopped.stop(stopped.runs[0], "interrupt")
	stopped.ends(u.submits(stopped, SayWatched("instead"), workflows.LoopVersion), "success")
	for _, l := range []*lane{first, streams, asks, queues} {
		l.waits()
	}
	u.becomes(NextBinary(t))
	for _, l := range []*lane{first, streams, queues} {
		for _, run := range l.runs {
			l.ends(run, "success")
		}
	}
	asks.ends(u.submits(asks, Resume("this"), nextVersion), "success")
	streams.has("ai: ", "tool: Error: Directory not found: /mnt/user-data/0", "ai: ", "tool: Error: Directory not found: /mnt/user-data/1", "ai: looked everywhere")
	queues.has("ai: answer to "+queues.mark, "human: one", "ai: answer to one")
	for l, want := range map[*lane]int{begun: 0, asks: 3, rests: 2} {
		turns, _ := l.checkHistories()
		require.Equal(t, want, turns, "%s: turns by the new rules", l.mark)
	}
	for _, l := range []*lane{first, streams, stopped, queues} {
		turns, left := l.checkHistories()
		require.NotZero(t, left, "%s was left to the newer program", l.mark)
		require.NotZero(t, turns, l.mark)
	}
	u.versions()
}

// refuses checks that a thread takes no message, and says why.
func (l *lane) refuses(r RunRequest) {
	l.t.Helper()
	_, err := l.api.CreateRun(l.ctx, l.id, r)
	require.Equal(l.t, http.StatusConflict, StatusOf(err), "%s: %v", l.mark, err)
	require.ErrorContains(l.t, err, "it was begun by a newer one, and goes on when that runs again", l.mark)
}

// waits checks that nothing was taken from a thread whose work is left alone.
func (l *lane) waits() {
	l.t.Helper()
	runs, err := l.api.Runs(l.ctx, l.id)
	require.NoError(l.t, err)
	require.Len(l.t, runs, len(l.runs))
	th, err := l.api.Thread(l.ctx, l.id)
	require.NoError(l.t, err)
	if len(th.Interrupts) > 0 {
		require.Equal(l.t, "interrupted", th.Status, l.mark)
		return
	}
	for _, run := range runs {
		require.False(l.t, run.Finished(), "%s: run %s is %s", l.mark, run.RunID, run.Status)
	}
	require.False(l.t, running(l.ctx, l.t, l.c, l.id), "%s has no workflow that could do anything", l.mark)
}
