package e2e

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// posted is what became of one of two runs that were posted at the same time.
type posted struct {
	text string
	run  testkit.Run
	err  error
}

// postTwo posts two runs on a thread in the same moment.
func postTwo(t *testing.T, api *testkit.API, threadID, strategy string) (accepted, refused []posted) {
	t.Helper()
	ctx := patient(t)
	both := []posted{{text: "word by word A"}, {text: "word by word B"}}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range both {
		wg.Go(func() {
			<-start
			r := testkit.SayWatched(both[i].text)
			r.MultitaskStrategy = strategy
			both[i].run, both[i].err = api.CreateRun(ctx, threadID, r)
		})
	}
	close(start)
	wg.Wait()
	for _, p := range both {
		if p.err == nil {
			accepted = append(accepted, p)
		} else {
			refused = append(refused, p)
		}
	}
	return accepted, refused
}

// statuses awaits the ends of runs, by their text.
func statuses(t *testing.T, api *testkit.API, threadID string, runs []posted) map[string]string {
	t.Helper()
	ended := map[string]string{}
	for _, p := range runs {
		run, err := api.AwaitRun(patient(t), threadID, p.run.RunID, "success", "interrupted", "error")
		require.NoError(t, err)
		ended[p.text] = run.Status
	}
	return ended
}

// said lists the texts of the user's messages.
func said(list []testkit.Message) []string {
	var texts []string
	for _, m := range list {
		if m.Type == "human" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// E08: two runs that are posted at the same moment, for each strategy.
func TestE08TwoRunsOnOneThread(t *testing.T) {
	t.Parallel()
	inBothShapes(t, twoRunsOnOneThread)
}

func twoRunsOnOneThread(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("word by word")).Respond(func(r *testkit.Request) testkit.Reply {
		return testkit.Text(strings.Repeat("answer to "+r.LastUser()+" ", 10), testkit.WithChunks(20), testkit.WithDelay(20*time.Millisecond))
	})
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("fine") })
	p := start(testkit.ConfigFor(m))
	api := p.API()
	begin := func(t *testing.T) string {
		t.Helper()
		thread, err := api.CreateThread(patient(t), "", nil)
		require.NoError(t, err)
		_, err = api.WaitRun(patient(t), thread.ThreadID, testkit.SayWatched("before"))
		require.NoError(t, err)
		return thread.ThreadID
	}
	// after checks that the thread goes on, and what the model was last asked.
	after := func(t *testing.T, id string, want []string) {
		t.Helper()
		require.Equal(t, want, said(messages(t, api, id)))
		_, err := api.WaitRun(patient(t), id, testkit.SayWatched("and after "+id))
		require.NoError(t, err)
		requests := m.RequestsTo(testkit.LastUser("and after " + id))
		require.Len(t, requests, 1)
		var asked []string
		for _, message := range requests[0].Messages {
			if message.Role == "user" {
				asked = append(asked, message.Text())
			}
		}
		for i, text := range append(slices.Clone(want), "and after "+id) {
			require.Contains(t, asked[i], text)
		}
		require.Len(t, asked, len(want)+1, "nothing is lost or doubled for the model")
	}
	t.Run("reject", func(t *testing.T) {
		id := begin(t)
		accepted, refused := postTwo(t, api, id, "reject")
		require.Len(t, accepted, 1)
		require.Len(t, refused, 1)
		var conflict *testkit.HTTPError
		require.ErrorAs(t, refused[0].err, &conflict)
		require.Equal(t, 409, conflict.Status)
		require.Contains(t, conflict.Error(), accepted[0].run.RunID, "the refusal names the active run")
		require.Equal(t, map[string]string{accepted[0].text: "success"}, statuses(t, api, id, accepted))
		after(t, id, []string{"before", accepted[0].text})
	})
	t.Run("interrupt", func(t *testing.T) {
		id := begin(t)
		accepted, refused := postTwo(t, api, id, "interrupt")
		require.Empty(t, refused)
		ended := statuses(t, api, id, accepted)
		winner, loser := winnerOf(t, ended, "interrupted")
		// The loser may have been stopped before its message was taken up.
		want := []string{"before", loser, winner}
		if list := said(messages(t, api, id)); len(list) == 2 {
			want = []string{"before", winner}
		}
		after(t, id, want)
	})
	t.Run("rollback", func(t *testing.T) {
		id := begin(t)
		accepted, refused := postTwo(t, api, id, "rollback")
		require.Empty(t, refused)
		winner, _ := winnerOf(t, statuses(t, api, id, accepted), "")
		after(t, id, []string{"before", winner})
	})
	t.Run("enqueue", func(t *testing.T) {
		id := begin(t)
		accepted, refused := postTwo(t, api, id, "enqueue")
		require.Empty(t, refused)
		slices.SortFunc(accepted, func(a, b posted) int { return strings.Compare(a.run.CreatedAt, b.run.CreatedAt) })
		_, err := api.AwaitRun(patient(t), id, accepted[0].run.RunID, "running", "success")
		require.NoError(t, err)
		p.Kill9()
		p.Restart()
		api = p.API()
		for text, status := range statuses(t, api, id, accepted) {
			require.Equal(t, "success", status, text)
		}
		list := said(messages(t, api, id))
		require.ElementsMatch(t, []string{"before", accepted[0].text, accepted[1].text}, list)
		after(t, id, list)
	})
}

// winnerOf tells the run that succeeded from the one that did not.
func winnerOf(t *testing.T, ended map[string]string, lost string) (winner, loser string) {
	t.Helper()
	for text, status := range ended {
		if status == "success" {
			winner = text
			continue
		}
		loser = text
		if lost != "" {
			require.Equal(t, lost, status)
		}
	}
	require.NotEmpty(t, winner, "%v", ended)
	require.NotEmpty(t, loser, "exactly one succeeds: %v", ended)
	return winner, loser
}

// E13 and E05: killed when a model call has just been made, before and after a
// tool. The run goes on by itself, its reader is told that the connection broke,
// not that the run ended, and nothing stays running.
func TestE13KilledAtEveryModelCall(t *testing.T) {
	t.Parallel()
	inBothShapes(t, killedAtEveryModelCall)
}

func killedAtEveryModelCall(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	first, second := testkit.NewGate(), testkit.NewGate()
	look := testkit.ToolCalls(testkit.Call{ID: "c1", Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data"}})
	m.Enqueue(
		testkit.Text("never sent").Before(testkit.Hold(first)), look,
		testkit.Text("never sent either").Before(testkit.Hold(second)), testkit.Text("done"),
	)
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	thread, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, thread.ThreadID, testkit.SayWatched("look around"))
	require.NoError(t, err)
	defer stream.Close()
	begun, err := stream.Until(ctx, testkit.IsEvent("metadata"))
	require.NoError(t, err)
	seen := begun
	for _, gate := range []*testkit.Gate{first, second} {
		<-gate.Reached()
		p.Kill9()
		gate.Release()
		rest, err := stream.All(ctx)
		require.Error(t, err, "a stream that broke off does not look like one that ended")
		for _, f := range rest {
			require.NotEqual(t, "end", f.Event)
		}
		seen = append(seen, rest...)
		p.Restart()
		stream, err = stream.Reconnect(ctx)
		require.NoError(t, err)
		defer stream.Close()
	}
	rest, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	noDoubles(t, append(seen, rest...))
	list := messages(t, p.API(), thread.ThreadID)
	require.Len(t, list, 4)
	require.Equal(t, "done", list[3].Text())
	runs, err := p.API().Runs(ctx, thread.ThreadID)
	require.NoError(t, err)
	require.Len(t, runs, 1, "no run twice")
	require.Equal(t, "success", runs[0].Status)
	now, err := p.API().Thread(ctx, thread.ThreadID)
	require.NoError(t, err)
	require.Equal(t, "idle", now.Status)
}

// E06: in the second turn, the history has the second question from the start,
// and what it has and what the stream brings add up without doubles.
func TestE06ReloadInTheSecondTurn(t *testing.T) {
	t.Parallel()
	inBothShapes(t, reloadInTheSecondTurn)
}

func reloadInTheSecondTurn(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.Enqueue(testkit.Text("the first answer"), testkit.Text("the second answer comes in pieces", testkit.WithChunks(6), testkit.At(3, testkit.Hold(gate))))
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	api := p.API()
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	_, err = api.WaitRun(ctx, thread.ThreadID, testkit.SayWatched("one"))
	require.NoError(t, err)
	run, err := api.CreateRun(ctx, thread.ThreadID, testkit.SayWatched("two"))
	require.NoError(t, err)
	history, err := api.History(ctx, thread.ThreadID, 1)
	require.NoError(t, err)
	known, err := history[0].Values.Messages()
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, said(known))
	<-gate.Reached()
	stream, err := api.JoinStream(ctx, thread.ThreadID, run.RunID, "-1")
	require.NoError(t, err)
	defer stream.Close()
	gate.Release()
	frames, err := stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	noDoubles(t, frames)
	require.Contains(t, frames[0].Data, run.RunID)
	merged := map[string]bool{}
	for _, message := range known {
		merged[message.ID] = true
	}
	var tr transcript
	tr.read(t, frames...)
	require.Equal(t, []string{"the second answer comes in pieces"}, tr.of("ai"))
	for _, id := range tr.order {
		merged[id] = true
	}
	require.Len(t, merged, 4, "history and stream are one conversation")
	final := messages(t, api, thread.ThreadID)
	for _, message := range final {
		require.True(t, merged[message.ID], message.Text())
	}
}
