package api

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "go")
	p.start(run)
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	path := runsPath + "/" + run + "/cancel"
	e.check(t, scenario{method: "POST", path: path + "?wait=0&action=interrupt", status: 202})
	e.check(t, scenario{method: "POST", path: path + "?wait=2", status: 422, want: []string{`["query","wait"]`}})
	e.check(t, scenario{method: "POST", path: path + "?action=destroy", status: 422, want: []string{`["query","action"]`}})
	e.check(t, scenario{method: "POST", path: runsPath + "/nope/cancel", status: 404})
	e.threads.cancel = func(_ string, r step.CancelRun) error {
		require.Equal(t, thread.CancelRollback, r.Action)
		p.commit(p.ending(thread.End{Status: thread.RunInterrupted, StopReason: thread.StopCancelled}))
		return nil
	}
	e.check(t, scenario{method: "POST", path: path + "?wait=1&action=rollback", status: 204})
	require.Equal(t, "metadata values values end", events(all(t, e, s)), "end, and no error")
	e.check(t, scenario{method: "GET", path: runsPath + "/" + run, status: 200, want: []string{`"status":"interrupted"`, `"stop_reason":"cancelled"`}})
	e.check(t, scenario{method: "POST", path: path, status: 202, want: nil})
	require.Len(t, e.threads.cancels(), 2, "one that was stopped already is fine")
	e.check(t, scenario{
		method: "POST", path: path + "?action=rollback", status: 409,
		want: []string{`{"detail":"Run ` + run + ` is not cancellable (status: interrupted)"}`},
	})
	require.Len(t, e.threads.cancels(), 2, "what was not rolled back is not said to be")

	second := e.say(t, "t", "again")
	p.turn(second, "done")
	e.check(t, scenario{
		method: "POST", path: runsPath + "/" + second + "/cancel", status: 409,
		want: []string{`{"detail":"Run ` + second + ` is not cancellable (status: success)"}`},
	})
	require.Len(t, e.threads.cancels(), 2)

	third := e.say(t, "t", "ask me")
	p.start(third)
	p.ask(question("call_1"))
	e.threads.cancel = nil
	e.check(t, scenario{method: "POST", path: runsPath + "/" + third + "/cancel", status: 202})
	require.Len(t, e.threads.cancels(), 3, "its question is what is cancelled")
	e.check(t, scenario{method: "POST", path: runsPath + "/" + second + "/cancel", status: 409})
}

// A run that was acknowledged without a worker and has not reached its thread is
// stopped all the same.
func TestCancelOfARunThatItsThreadDoesNotKnow(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	e.threads.submit = func(string, step.SubmitRun) error { return threadclient.ErrNoWorker }
	run := e.say(t, "t", "go")
	e.threads.cancel = func(string, step.CancelRun) error {
		return &threadclient.RefusedError{Type: step.ErrUnknownRun, Reason: "it was never taken"}
	}
	e.check(t, scenario{method: "POST", path: runsPath + "/" + run + "/cancel", status: 202})
	e.check(t, scenario{method: "GET", path: runsPath + "/" + run, status: 200, want: []string{`"status":"interrupted"`, `"stop_reason":"cancelled"`}})
	e.check(t, scenario{method: "POST", path: runsPath + "/" + run + "/cancel", status: 202})
	require.Len(t, e.threads.cancels(), 1)
}

func TestCancelRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	path := runsPath + "/" + run + "/cancel"
	for _, s := range []struct {
		err    error
		status int
		want   string
	}{
		{refused(step.ErrNotCancellable), 409, "is not cancellable (status: pending)"},
		{unavailableTemporal(), 503, "Temporal"},
		{noWorker(), 202, ""},
		{errors.New("odd"), 500, "Internal error"},
	} {
		e.threads.cancel = func(string, step.CancelRun) error { return s.err }
		e.check(t, scenario{method: "POST", path: path, status: s.status, want: []string{s.want}})
	}
}
