package stop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// A stop finds the run in a pause between two tries of the model.
func TestStopWhileTheModelIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"the pause of a failure":         testkit.APIError(503, "", "overloaded"),
		"a Retry-After that is obeyed":   testkit.APIError(429, "rate_limit_exceeded", "slow down", "Retry-After: 50"),
		"a Retry-After that is a timer":  testkit.APIError(429, "rate_limit_exceeded", "slow down", "Retry-After: 1800"),
		"a stream that broke, then 503s": testkit.Text("half of it was said", testkit.WithChunks(4), testkit.At(2, testkit.Cut())),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testkit.NewModel(t)
			m.On(testkit.LastUser("talk")).Enqueue(reply)
			m.On(testkit.LastUser("talk")).Always(testkit.APIError(503, "", "overloaded"))
			slowly := strings.NewReplacer("retry_base_delay_ms: 50", "retry_base_delay_ms: 40000", "retry_cap_delay_ms: 200", "retry_cap_delay_ms: 40000")
			p := startDev(t, slowly.Replace(testkit.ConfigFor(m)))
			id := p.newThread(t)
			run := p.start(t, id, "talk")
			_, err := m.Await(patient(t), 1)
			require.NoError(t, err)
			if !strings.Contains(name, "timer") {
				p.shows(t, id, run, "llm_retry")
			}
			w := watch(t)
			require.NoError(t, p.api.CancelRun(patient(t), id, run, testkit.CancelOptions{}))
			w.within(soon, "the run had ended", func() bool {
				r, err := p.api.Run(patient(t), id, run)
				return err == nil && r.Status == "interrupted"
			})
			require.Len(t, m.Requests(), 1, "the model is not asked again")
			p.goesOn(t, m, id)
		})
	}
}

// With a Temporal that does not push, as a stock one, a stop arrives with the
// next heartbeat.
func TestStopWithoutPush(t *testing.T) {
	t.Parallel()
	m, gate := testkit.NewModel(t), testkit.NewGate()
	m.On(testkit.LastUser("talk")).Enqueue(testkit.Text("this much was on the screen and then", testkit.WithChunks(6), testkit.At(4, testkit.Hold(gate))))
	m.On(testkit.LastUser("work")).Enqueue(testkit.ToolCalls(bash("c1", "sleep 3600.125 & sleep 3600.25")))
	p, _ := startSplit(t, testkit.SplitOptions{DatabaseURL: postgres.Database(t), Config: testkit.ConfigFor(m), NoPush: true})
	talk, work := p.newThread(t), p.newThread(t)
	working := p.start(t, work, "work")
	command := p.command(t)
	talking := p.start(t, talk, "talk")
	<-gate.Reached()
	p.shows(t, talk, talking, "this much")

	w := watch(t)
	require.NoError(t, p.api.CancelRun(patient(t), talk, talking, testkit.CancelOptions{}))
	require.NoError(t, p.api.CancelRun(patient(t), work, working, testkit.CancelOptions{}))
	// A beat a second, throttled to one a second; stock throttles would take 21 s.
	w.within(2*soon, "the model request was closed", closed(m.RequestsTo(testkit.LastUser("talk"))[0]))
	w.within(2*soon, "the command was gone", groupGone(command.Group))
	p.awaitInterrupted(t, talk, talking)
	p.awaitInterrupted(t, work, working)
	require.Contains(t, p.messages(t, talk)[1].Text(), "this much")
	p.goesOn(t, m, talk)
	p.goesOn(t, m, work)
}
