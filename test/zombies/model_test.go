package zombies

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// pace keeps an old answer coming for seconds, so that whoever reads it can be
// seen to stop.
const pace = 50 * time.Millisecond

const (
	oldText = "the old attempt goes on writing until it finds that it was given up for good"
	newText = "the new attempt writes another text and is the one that stays"
)

func TestAFrozenModelStreamWakesInTheMiddleOfTheNext(t *testing.T) {
	t.Parallel()
	m, first, second := testkit.NewModel(t), testkit.NewGate(), testkit.NewGate()
	m.Enqueue(
		testkit.Text(oldText+strings.Repeat(" and on", 60), testkit.WithChunks(100), testkit.WithDelay(pace), testkit.At(25, testkit.Hold(first))),
		testkit.Text(newText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(second))),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	live, err := api.StreamRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer live.Close()
	left, err := api.JoinStream(ctx, id, live.RunID(), "-1")
	require.NoError(t, err)
	defer left.Close()
	var followed, came screen
	followed.until(ctx, t, live, "the old attempt goes")
	came.until(ctx, t, left, "the old attempt goes")
	<-first.Reached()
	left.Close()

	old, _ := p.streaming(m)
	old.Freeze()
	frozen := time.Now()
	<-second.Reached()
	t.Logf("the next attempt streams %v after the freeze", time.Since(frozen).Round(time.Millisecond))
	followed.until(ctx, t, live, "the new attempt")
	old.Thaw()
	first.Release()
	woken := time.Now()
	awaitClosed(t, m.Requests()[0], "the old attempt does not end its request")
	t.Logf("the old request was closed %v after its worker woke", time.Since(woken).Round(time.Millisecond))
	back, err := left.Reconnect(ctx)
	require.NoError(t, err)
	defer back.Close()
	came.until(ctx, t, back, "the new attempt")
	second.Release()
	followed.toEnd(ctx, t, live)
	came.toEnd(ctx, t, back)

	sameForAll(t, api, id, live.RunID(), []string{newText}, &followed, &came)
	require.Equal(t, []string{"human: tell me", "ai: " + newText}, shape(messages(t, api, id)))
	require.Len(t, m.Requests(), 2)
	goesOn(t, api, m, id)
}

func TestAFrozenModelStreamThatSaysNothingMoreIsClosed(t *testing.T) {
	t.Parallel()
	m, first := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(first))),
		testkit.Text(newText),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	run, err := api.CreateRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	<-first.Reached()
	old, _ := p.streaming(m)
	old.Freeze()
	_, err = api.AwaitRun(ctx, id, run.RunID, "success")
	require.NoError(t, err)
	select {
	case <-m.Requests()[0].Closed():
		t.Fatal("the frozen worker holds its request")
	default:
	}
	old.Thaw()
	woken := time.Now()
	awaitClosed(t, m.Requests()[0], "nothing but its heartbeat can tell it")
	took := time.Since(woken)
	t.Logf("the silent request was closed %v after its worker woke", took.Round(time.Millisecond))
	require.Less(t, took, 10*time.Second, "two heartbeats, with room")
	sameForAll(t, api, id, run.RunID, []string{newText})
	goesOn(t, api, m, id)
}

// The old attempt has the whole answer and wakes when the new one has stored
// its own.
func TestAFrozenModelStreamEndsAfterTheNext(t *testing.T) {
	t.Parallel()
	m, first := testkit.NewModel(t), testkit.NewGate()
	m.Enqueue(
		testkit.Text(oldText, testkit.WithChunks(20), testkit.At(8, testkit.Hold(first))),
		testkit.Text(newText),
	)
	p := startPair(t, m)
	ctx, api := patient(t), p.API(0)
	id := newThread(t, api)
	run, err := api.CreateRun(ctx, id, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	<-first.Reached()
	old, _ := p.streaming(m)
	old.Freeze()
	first.Release()
	select {
	case <-m.Requests()[0].Done(): // all of it waits in the buffers of the frozen worker
	case <-ctx.Done():
		t.Fatal("the old answer was not sent")
	}
	_, err = api.AwaitRun(ctx, id, run.RunID, "success")
	require.NoError(t, err)
	old.Thaw()
	goesOn(t, api, m, id)
	sameForAll(t, api, id, run.RunID, []string{newText})
	require.Equal(t, "ai: "+newText, shape(messages(t, api, id))[1])
}
