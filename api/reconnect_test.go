package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
)

// TestReconnectAnywhere: whoever comes back after any frame gets exactly the
// rest, whatever modes are read.
func TestReconnectAnywhere(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.turn(e.say(t, "t", "before"), "earlier")
	run := e.say(t, "t", "go")
	p.story(run)
	p.turn(e.say(t, "t", "after"), "later")
	join := func(id string, modes ...string) []string {
		query := ""
		for _, m := range modes {
			query += "&stream_mode=" + m
		}
		raw := e.rawStream(t, "/threads/t/runs/"+run+"/stream?x=1"+query, id)
		reader := testkit.NewFrameReader(strings.NewReader(raw))
		var frames []testkit.Frame
		for {
			f, err := reader.Read()
			if err != nil {
				return plain(frames)
			}
			if f.Event == "end" {
				f.ID = ""
			}
			frames = append(frames, f)
		}
	}
	for _, modes := range [][]string{nil, {"values"}, {"messages-tuple"}, {"updates", "custom"}, {"messages", "tasks", "debug", "checkpoints"}} {
		whole := join("", modes...)
		require.Equal(t, whole, join("-1", modes...))
		for _, unknown := range []string{"abc", "0-0", "99999-0", "-5-1", "1-", "1-x"} {
			require.Equal(t, whole, join(unknown, modes...), "an unknown place is the start")
		}
		seen := map[string]bool{}
		for i, f := range whole[:len(whole)-1] {
			id, _, _ := strings.Cut(f, " ")
			require.False(t, seen[id], "id %s is given twice", id)
			seen[id] = true
			require.Equal(t, whole[i+1:], join(id, modes...), "after %s with %v", id, modes)
		}
	}
}

// TestReconnectProperty does the same while a random run is going on.
func TestReconnectProperty(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := fmt.Sprintf("t%d", n)
		run := e.say(t, id, "go")
		live, err := e.root.JoinStream(e.ctx, id, run, "")
		require.NoError(t, err)
		p := e.play(t, id)
		p.start(run)
		for range rapid.IntRange(0, 6).Draw(rt, "turns") {
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				p.model(rapid.SliceOfN(rapid.StringMatching(`[a-z ]{0,5}`), 0, 4).Draw(rt, "pieces")...)
			case 1:
				p.tool(p.call("ls", `{"path":"."}`), "x")
			case 2:
				p.stream(store.Delta{Text: "half"})
				p.finish(p.again(store.Delta{Text: "whole"}), aiMessage("whole"))
			case 3:
				p.commit()
			}
		}
		p.success()
		whole := plain(all(t, e, live))
		at := rapid.IntRange(0, len(whole)-2).Draw(rt, "cut")
		place, _, _ := strings.Cut(whole[at], " ")
		s, err := e.root.JoinStream(e.ctx, id, run, place)
		require.NoError(t, err)
		rest := all(t, e, s)
		if rest[len(rest)-1].ID == "" {
			rest[len(rest)-1].ID = place // an end without a frame before it
		}
		require.Equal(t, whole[at+1:], plain(rest))
	})
}

// TestE02Gap: the deltas at the reader's place are gone.
func TestE02Gap(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "go")
	p.start(run)
	s, err := e.df.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	owner := p.stream(store.Delta{Text: "a"}, store.Delta{Text: "b"}, store.Delta{Text: "c"})
	isB := func(f testkit.Frame) bool { return strings.Contains(f.Data, `"content":"b"`) }
	_, err = s.Until(e.ctx, isB)
	require.NoError(t, err)
	s.Close()
	p.finish(owner, aiMessage("abc"))
	p.commit()
	n, err := e.store.PruneDeltas(e.ctx, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	p.model("next")
	p.success()

	s, err = s.Reconnect(e.ctx)
	require.NoError(t, err)
	frames := all(t, e, s)
	require.Equal(t, "gap messages updates values messages messages updates values end", events(frames))
	var gap map[string]any
	require.NoError(t, frames[0].Decode(&gap))
	require.Equal(t, "stream_replay_gap", gap["code"])
	require.Equal(t, run, gap["run_id"])
	require.Equal(t, "4-0", gap["requested_event_id"])
	require.Equal(t, "6-0", gap["earliest_available_event_id"])
	require.Equal(t, "reload_durable_state", gap["recovery"])
	latest, ok := gap["latest_available_event_id"].(string)
	require.True(t, ok)
	require.Contains(t, frames[1].Data, `"chunk_position":"last"`, "never the whole text again")
	require.NotContains(t, frames[1].Data, `"content":"abc"`)

	s, err = e.df.JoinStream(e.ctx, "t", run, latest)
	require.NoError(t, err)
	require.Equal(t, "end", events(all(t, e, s)), "the recovery of DeerFlow's page ends")

	s, err = e.df.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	frames = all(t, e, s)
	require.Equal(t, "metadata values messages updates values messages messages updates values end", events(frames), "from the start there is no gap")
	require.Contains(t, frames[2].Data, `"content":"abc"`, "the whole message instead of its chunks")
}

// TestPruneBehindAFact: what was pruned is of a message the reader knows nothing
// of.
func TestPruneBehindAFact(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "go")
	p.start(run)
	p.model("one")
	checkpoint := p.commit()
	p.model("two")
	p.success()
	_, err := e.store.PruneDeltas(e.ctx, time.Now().Add(time.Hour))
	require.NoError(t, err)
	cp, err := e.store.GetCheckpoint(e.ctx, "t", checkpoint)
	require.NoError(t, err)
	s, err := e.df.JoinStream(e.ctx, "t", run, place{seq: cp.Seq}.String())
	require.NoError(t, err)
	frames := all(t, e, s)
	require.Equal(t, "messages updates values end", events(frames), "nothing of the second message was seen, so nothing is missing")
	require.Contains(t, frames[0].Data, `"content":"two"`)
}

// TestE01Disconnect: a run outlives its client, unless it was asked not
// to.
func TestE01Disconnect(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, s := range []struct {
		mode   string
		cancel bool
	}{{"", false}, {"continue", false}, {"cancel", true}} {
		cancelled := make(chan string, 1)
		e.threads.mu.Lock()
		e.threads.cancel = func(_ string, r step.CancelRun) error { cancelled <- r.RunID; return nil }
		e.threads.mu.Unlock()
		request := testkit.Say("go")
		request.OnDisconnect, request.IfNotExists, request.StreamMode = s.mode, "create", []string{"messages-tuple"}
		id := "t" + s.mode
		stream, err := e.df.StreamRun(e.ctx, id, request)
		require.NoError(t, err)
		run := stream.RunID()
		p := e.play(t, id)
		p.start(run)
		owner := p.stream(store.Delta{Text: "20 tokens"})
		_, err = stream.Until(e.ctx, testkit.IsEvent("messages"))
		require.NoError(t, err)
		stream.Close()
		if s.cancel {
			select {
			case got := <-cancelled:
				require.Equal(t, run, got)
			case <-e.ctx.Done():
				t.Fatal("the run was not cancelled")
			}
			continue
		}
		p.delta(owner, store.Delta{Text: " more"})
		p.finish(owner, aiMessage("20 tokens more"))
		p.success()
		back, err := stream.Reconnect(e.ctx)
		require.NoError(t, err)
		frames := all(t, e, back)
		require.Equal(t, "messages messages end", events(frames), "the rest, nothing twice")
		require.Contains(t, frames[0].Data, " more")
		require.Empty(t, cancelled)
	}
}

func TestE05CloseEndsStreamsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	p := e.play(t, "t")
	p.start(run)
	request := testkit.Say("x")
	request.OnDisconnect, request.MultitaskStrategy = "cancel", "enqueue"
	queued, err := e.root.StreamRun(e.ctx, "t", request)
	require.NoError(t, err)
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	before, err := s.Until(e.ctx, testkit.IsEvent("values"))
	require.NoError(t, err)
	e.server.Close()
	rest := all(t, e, s)
	require.Empty(t, rest, "no end event: the run goes on")
	require.Empty(t, all(t, e, queued))
	require.Empty(t, e.threads.cancels(), "a shutdown is no disconnect")
	e.http.Close() // drains at once

	e.serve()
	p.model("hello")
	p.success()
	s, err = e.root.JoinStream(e.ctx, "t", run, before[len(before)-1].ID)
	require.NoError(t, err)
	require.Equal(t, "messages messages updates values end", events(all(t, e, s)), "the next server goes on where the first stopped")
}
