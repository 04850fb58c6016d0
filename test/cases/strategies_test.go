package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

const (
	flowDelay  = 20 * time.Millisecond
	eachMoment = 10 * time.Millisecond
)

// E08: each strategy against a run in each state. The thread continues as new
// every few steps, so "long" has done so in the middle of its run.
func TestE08StrategiesInEachState(t *testing.T) {
	m := NewModel(t)
	a := newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	for _, verb := range []string{"hold", "tool", "long", "ask"} {
		for _, strategy := range []string{"reject", "interrupt", "rollback", "enqueue"} {
			t.Run(verb+" "+strategy, func(t *testing.T) {
				t.Parallel()
				strategyInState(t, a, p, verb, strategy)
			})
		}
	}
}

func strategyInState(t *testing.T, a *actor, p *Process, verb, strategy string) {
	t.Helper()
	ctx, api, key := patient(t), p.API(), verb+"-"+strategy
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "before").Status)
	base := messages(t, api, id)
	first, err := api.CreateRun(ctx, id, SayWatched(verb+" "+key))
	require.NoError(t, err)
	a.under(t, p, first, verb, key)
	waits := SayWatched("waits")
	waits.MultitaskStrategy = "enqueue"
	var waiting Run
	if verb != "ask" {
		waiting, err = api.CreateRun(ctx, id, waits)
		require.NoError(t, err)
	}
	req := SayWatched("second")
	req.MultitaskStrategy = strategy
	second, err := api.CreateRun(ctx, id, req)
	if verb == "ask" { // a thread that waits is not busy: any message answers it
		require.NoError(t, err)
		require.Equal(t, "success", end(t, api, id, second.RunID))
		require.Equal(t, "success", end(t, api, id, first.RunID))
		require.Equal(t, []string{"before", verb + " " + key, "second"}, humans(messages(t, api, id)))
		usable(t, api, id)
		return
	}
	if strategy == "reject" {
		var conflict *HTTPError
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, 409, conflict.Status)
		require.Contains(t, conflict.Error(), first.RunID)
	} else {
		require.NoError(t, err)
	}
	if strategy == "reject" || strategy == "enqueue" {
		now, err := api.Run(ctx, id, first.RunID)
		require.NoError(t, err)
		require.Equal(t, "running", now.Status)
		a.let(t, p, id, key)
	}
	want := map[string][]string{ // of the first, the waiting and the second run
		"reject": {"success", "success", ""}, "enqueue": {"success", "success", "success"},
		"interrupt": {"interrupted", "interrupted", "success"}, "rollback": {"error", "interrupted", "success"},
	}[strategy]
	require.Equal(t, want[0], end(t, api, id, first.RunID))
	require.Equal(t, want[1], end(t, api, id, waiting.RunID))
	if want[2] != "" {
		require.Equal(t, want[2], end(t, api, id, second.RunID))
	}
	list := messages(t, api, id)
	require.Equal(t, map[string][]string{
		"reject": {"before", verb + " " + key, "waits"}, "enqueue": {"before", verb + " " + key, "waits", "second"},
		"interrupt": {"before", verb + " " + key, "waits", "second"}, "rollback": {"before", "second"},
	}[strategy], humans(list))
	switch strategy {
	case "rollback":
		require.Len(t, list, len(base)+2, "%q", shape(list))
	case "interrupt":
		keepsWhatWasThere(t, verb, list)
	}
	runs, err := api.Runs(ctx, id)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(runs, func(r Run) bool { return !r.Finished() }))
	usable(t, api, id)
}

// keepsWhatWasThere checks the part of the transcript that a stopped run left.
func keepsWhatWasThere(t *testing.T, verb string, list []Message) {
	t.Helper()
	at := slices.IndexFunc(list, func(m Message) bool { return m.Text() == "waits" })
	stopped := list[at-1]
	if verb == "tool" {
		require.Equal(t, "tool", stopped.Type)
		asked := list[at-3]
		require.Len(t, asked.ToolCalls, 2)
		require.Equal(t, asked.ToolCalls[0].ID, list[at-2].ToolCallID)
		require.Equal(t, "error", list[at-2].Status, "the command was stopped")
		require.Equal(t, asked.ToolCalls[1].ID, stopped.ToolCallID)
		return
	}
	require.Equal(t, "ai", stopped.Type)
	require.NotEmpty(t, stopped.Text(), "the text that was shown stays")
	require.NotContains(t, stopped.Text(), verb+"-interrupt", "the answer was stopped half way: %q", stopped.Text())
}

// end is how a run ends.
func end(t *testing.T, api *API, id, runID string) string {
	t.Helper()
	r, err := api.AwaitRun(patient(t), id, runID)
	require.NoError(t, err)
	return r.Status
}

// usable checks that a thread takes one more run, and answers it last.
func usable(t *testing.T, api *API, id string) {
	t.Helper()
	n := len(messages(t, api, id))
	require.Equal(t, "success", run(t, api, id, "after").Status)
	list := messages(t, api, id)
	require.Equal(t, "answer to after", last(list).Text())
	require.Len(t, list, n+2)
}

// Stops in each state: one, two at once, a rollback after a stop; and late ones,
// which change nothing.
func TestB01StopsInEachState(t *testing.T) {
	m := NewModel(t)
	a := newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	for _, verb := range []string{"hold", "tool", "long", "ask", "now"} {
		for _, how := range []string{"interrupt", "rollback", "interrupt+interrupt", "interrupt+rollback", "rollback+interrupt"} {
			t.Run(verb+" "+how, func(t *testing.T) {
				t.Parallel()
				stopInState(t, a, p, verb, how)
			})
		}
	}
}

func stopInState(t *testing.T, a *actor, p *Process, verb, how string) {
	t.Helper()
	ctx, api, key := patient(t), p.API(), verb+"-"+how
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "before").Status)
	base := shape(messages(t, api, id))
	said := verb + " " + key
	if verb == "now" { // before anything has happened
		said = "hold " + key
	}
	first, err := api.CreateRun(ctx, id, SayWatched(said))
	require.NoError(t, err)
	if verb != "now" {
		a.under(t, p, first, verb, key)
	}
	actions := strings.Split(how, "+")
	errs := make([]error, len(actions))
	var wg sync.WaitGroup
	for i, action := range actions {
		wg.Go(func() { errs[i] = api.CancelRun(ctx, id, first.RunID, CancelOptions{Wait: true, Action: action}) })
	}
	wg.Wait()
	rolledBack := false
	for i, err := range errs {
		if err != nil {
			require.Equal(t, 409, StatusOf(err), "%v", err)
		}
		rolledBack = rolledBack || err == nil && actions[i] == "rollback"
	}
	require.Contains(t, errs, nil, "one of them stops the run: %v", errs)
	awaitStatus(t, api, id, "idle")
	status := end(t, api, id, first.RunID)
	now := shape(messages(t, api, id))
	want := "interrupted"
	if rolledBack {
		want = "error"
	}
	if verb == "ask" {
		want = "success" // it had ended with its question
	}
	require.Equal(t, want, status)
	if rolledBack {
		require.Equal(t, base, now, "the state from before the run: a rollback wins")
	} else {
		require.Contains(t, now, "human: "+said)
	}
	// Late: nothing is left to stop, and the next run is not meant.
	usable(t, api, id)
	next, err := api.CreateRun(ctx, id, SayWatched("hold next-"+key))
	require.NoError(t, err)
	a.under(t, p, next, "hold", "next-"+key)
	for _, action := range actions {
		err := api.CancelRun(ctx, id, first.RunID, CancelOptions{Action: action})
		if status == "interrupted" && action != "rollback" {
			require.NoError(t, err, "a stop that is repeated is no fault")
		} else {
			require.Equal(t, 409, StatusOf(err), "%v", err)
		}
	}
	a.let(t, p, id, "next-"+key)
	require.Equal(t, "success", end(t, api, id, next.RunID), "a late stop does not reach another run")
	require.Equal(t, fmt.Sprintf("answer to hold next-%s", key), last(messages(t, api, id)).Text())
}

// A stop that comes when the run is just ending: the run has one end, and it is
// the one that the answer to the stop says.
func TestB01StopAtTheEnd(t *testing.T) {
	m := NewModel(t)
	newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	for round := range 12 {
		ctx, id := patient(t), newThread(t, api)
		r, err := api.CreateRun(ctx, id, SayWatched("flow x"))
		require.NoError(t, err)
		time.Sleep(time.Duration(60+round*10) * time.Millisecond) // around the end, which is the point
		err = api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true})
		var refused *HTTPError
		status := end(t, api, id, r.RunID)
		if errors.As(err, &refused) {
			require.Equal(t, 409, refused.Status)
			require.Equal(t, "success", status)
		} else {
			require.NoError(t, err)
			require.Contains(t, []string{"interrupted", "success"}, status)
		}
		list := messages(t, api, id)
		require.Equal(t, []string{"flow x"}, humans(list))
		require.LessOrEqual(t, len(list), 2, "%q", shape(list))
		if status == "success" {
			require.Equal(t, "answer to flow x", last(list).Text())
		}
		usable(t, api, id)
	}
}
