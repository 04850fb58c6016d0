package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// all reads a stream to its end.
func all(t *testing.T, e *env, s *testkit.SSE) []testkit.Frame {
	t.Helper()
	frames, err := s.All(e.ctx)
	require.NoError(t, err)
	s.Close()
	return frames
}

// events are the names of frames in order.
func events(frames []testkit.Frame) string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[i] = f.Event
	}
	return strings.Join(names, " ")
}

// plain is what a client sees of frames, without the time of arrival.
func plain(frames []testkit.Frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.ID + " " + f.Event + " " + f.Data
	}
	return out
}

func TestStreamFromSubmissionToEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	for prefix, api := range map[string]*testkit.API{"": e.root, "/api": e.df, "/api/langgraph": e.root.WithPrefix("/api/langgraph")} {
		request := testkit.Say("hi")
		request.StreamMode = []string{"messages-tuple", "values", "updates", "custom"}
		s, err := api.StreamRun(e.ctx, "t", request)
		require.NoError(t, err)
		run := s.RunID()
		require.Equal(t, "text/event-stream", s.Header.Get("Content-Type"))
		require.Equal(t, "no-cache, no-transform", s.Header.Get("Cache-Control"))
		require.Equal(t, "no", s.Header.Get("X-Accel-Buffering"))
		require.Equal(t, "/threads/t/runs/"+run, s.Header.Get("Content-Location"))
		require.Equal(t, "/threads/t/runs/"+run+"/stream", s.Header.Get("Location"), prefix)
		p := e.play(t, "t-"+run)
		p.thread = "t"
		view, err := e.store.View(e.ctx, "t", viewNow())
		require.NoError(t, err)
		p.pos = int64(len(view.Rows) - 1)
		p.start(run)
		p.model("Hel", "lo")
		p.commits = len(prefix) * 10 // ids must differ from those of the other runs
		p.success()
		frames := all(t, e, s)
		require.Equal(t, "metadata values messages messages messages updates values end", events(frames))
		require.Equal(t, api == e.root, strings.Contains(frames[0].Data, "attempt"), "only the platform counts attempts")
		require.Contains(t, frames[1].Data, `"content":"hi"`, "the first values hold the question")
		require.Equal(t, "null", frames[len(frames)-1].Data)
	}
}

// TestChunksAddUpToTheMessage replays what an SDK does with the messages
// channel: the sum of all chunks is the message in the values.
func TestChunksAddUpToTheMessage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	e.play(t, "t").story(run)
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	text, args, whole, usage := map[string]string{}, map[string]string{}, map[string]int{}, map[string]int{}
	var last testkit.Values
	for _, f := range all(t, e, s) {
		switch f.Event {
		case "messages":
			var parts [2]struct {
				testkit.Message
				Chunks []struct{ Args string } `json:"tool_call_chunks"`
				Usage  *thread.Usage           `json:"usage_metadata"`
			}
			require.NoError(t, f.Decode(&parts))
			m := parts[0]
			switch m.Type {
			case "AIMessageChunk":
				text[m.ID] += m.Text()
				for _, c := range m.Chunks {
					args[m.ID] += c.Args
				}
				if m.Usage != nil {
					usage[m.ID] += m.Usage.TotalTokens
				}
			case "remove":
				delete(text, m.ID)
			default:
				whole[m.ID]++
			}
		case "values":
			last = testkit.Values{}
			require.NoError(t, f.Decode(&last))
		}
	}
	messages, err := last.Messages()
	require.NoError(t, err)
	require.Len(t, messages, 4)
	for _, m := range messages {
		switch m.Type {
		case "ai":
			require.Equal(t, m.Text(), text[m.ID])
			require.Equal(t, 15, usage[m.ID], "usage comes once")
			require.Zero(t, whole[m.ID], "chunks and a whole message")
			if len(m.ToolCalls) > 0 {
				require.JSONEq(t, `{"command":"ls"}`, args[m.ID])
			}
		case "tool":
			require.Equal(t, 1, whole[m.ID])
		case "human":
			require.Zero(t, whole[m.ID], "the question is in the values")
		}
	}
}

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

func TestHeartbeatWhileQueued(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	p := e.play(t, "t")
	first := e.say(t, "t", "one")
	p.start(first)
	queued := e.say(t, "t", "two")
	s, err := e.df.JoinStream(e.ctx, "t", queued, "-1")
	require.NoError(t, err)
	require.NoError(t, s.AwaitComments(e.ctx, 3))
	p.model("1")
	p.success()
	require.NoError(t, s.AwaitComments(e.ctx, s.Comments()+2), "the first run's end is not ours")
	p.turn(queued, "2")
	frames := all(t, e, s)
	require.Equal(t, "metadata values messages messages updates values end", events(frames))
	for _, f := range frames {
		if f.Event == "messages" {
			require.NotContains(t, f.Data, first, "a message of the other run")
		}
	}
}

func TestRunThatEndedBeforeItBegan(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.start(e.say(t, "t", "one"))
	queued := e.say(t, "t", "two")
	s, err := e.df.JoinStream(e.ctx, "t", queued, "")
	require.NoError(t, err)
	p.commit(func(in *step.CommitInput) {
		in.Ends = []thread.End{{RunID: queued, Status: thread.RunInterrupted, StopReason: thread.StopCancelled}}
	})
	require.Equal(t, "metadata end", events(all(t, e, s)))
	s, err = e.df.JoinStream(e.ctx, "t", queued, "")
	require.NoError(t, err)
	require.Equal(t, "metadata end", events(all(t, e, s)), "and later")
}

func TestDeletedRunEndsItsStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	run := e.say(t, "t", "one")
	s, err := e.df.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	require.NoError(t, s.AwaitComments(e.ctx, 1))
	require.NoError(t, e.store.DeleteThread(e.ctx, "t"))
	frames := all(t, e, s)
	require.Equal(t, "error end", events(frames))
	require.Contains(t, frames[0].Data, "deleted")
	_, err = e.df.JoinStream(e.ctx, "t", run, "")
	require.Equal(t, http.StatusNotFound, testkit.StatusOf(err))
}

func TestStreamModesFilter(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	e.play(t, "t").story(run)
	for query, want := range map[string]string{
		"stream_mode=values":                            "metadata values values values values values end",
		`stream_mode=["custom"]`:                        "metadata custom end",
		"stream_mode=custom&stream_mode=values":         "metadata values values values custom values values end",
		"stream_mode=updates":                           "metadata updates updates updates updates updates end",
		"stream_mode=tasks":                             "metadata tasks tasks tasks end",
		"stream_mode=checkpoints":                       "metadata checkpoints checkpoints checkpoints checkpoints end",
		"stream_mode=messages":                          "metadata messages/metadata messages/complete messages/metadata messages/complete messages/metadata messages/complete end",
		"cancel_on_disconnect=0&stream_mode=values&x=1": "metadata values values values values values end",
	} {
		raw := e.rawStream(t, "/api/threads/t/runs/"+run+"/stream?"+query, "-1")
		var names []string
		for line := range strings.Lines(raw) {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		require.Equal(t, want, strings.Join(names, " "), query)
	}
	e.check(t, scenario{method: "GET", path: "/threads/t/runs/" + run + "/stream?stream_mode=events", status: 422, want: []string{`["query","stream_mode"]`}})
	e.check(t, scenario{method: "GET", path: "/threads/t/runs/nope/stream", status: 404})
}

func TestInterruptFrames(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.say(t, "t", "hm")
	p.start(run)
	call := p.call("ask_clarification", `{"question":"Which year?"}`)
	p.tool(call, "Which year?")
	p.ask(question(call.ID))
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	frames := all(t, e, s)
	n := len(frames)
	require.Equal(t, "values values updates end", events(frames[n-4:]))
	require.NotContains(t, frames[n-4].Data, "__interrupt__")
	values := testkit.Values{}
	require.NoError(t, frames[n-3].Decode(&values))
	require.Contains(t, values, "messages")
	interrupts, err := values.Interrupts()
	require.NoError(t, err)
	require.Len(t, interrupts, 1)
	require.Equal(t, "clarification:"+call.ID, interrupts[0].ID)
	require.Contains(t, string(interrupts[0].Value), `"question":"Which year?"`)
	require.Contains(t, frames[n-2].Data, `{"__interrupt__":[{"id":"clarification:`)

	got, err := e.root.JoinRun(e.ctx, "t", run)
	require.NoError(t, err)
	interrupts, err = got.Interrupts()
	require.NoError(t, err)
	require.Len(t, interrupts, 1)
	answer := e.say(t, "t", "2026")
	p.start(answer, "clarification:"+call.ID)
	p.model("ok")
	p.success()
	got, err = e.root.JoinRun(e.ctx, "t", answer)
	require.NoError(t, err)
	require.NotContains(t, got, "__interrupt__")
}

func TestErrorFrame(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for name, s := range map[string]struct {
		end      thread.End
		fallback bool
		want     string
	}{
		"broken":    {thread.End{Status: thread.RunError, Error: "it broke"}, false, "metadata values values error end"},
		"timeout":   {thread.End{Status: thread.RunTimeout, Error: "too long"}, false, "metadata values values error end"},
		"fallback":  {thread.End{Status: thread.RunError, Error: "model down"}, true, "metadata values messages updates values end"},
		"cancelled": {thread.End{Status: thread.RunInterrupted, StopReason: thread.StopCancelled}, false, "metadata values values end"},
		"rollback":  {thread.End{Status: thread.RunError, Error: rolledBack}, false, "metadata values values end"},
		"stopped":   {thread.End{Status: thread.RunError, Error: "stop", StopReason: thread.StopCancelled}, false, "metadata values values end"},
	} {
		p := e.play(t, name)
		run := e.say(t, name, "hm")
		p.start(run)
		if s.fallback {
			m := aiMessage("The model is busy.")
			m.SetKwarg(thread.KeyErrorFallback, true)
			p.finish(p.stream(), m)
		}
		p.commit(p.ending(s.end))
		stream, err := e.root.JoinStream(e.ctx, name, run, "")
		require.NoError(t, err)
		frames := all(t, e, stream)
		require.Equal(t, s.want, events(frames), name)
		var answer map[string]json.RawMessage
		_, err = e.root.Do(e.ctx, "GET", "/threads/"+name+"/runs/"+run+"/join", nil, &answer)
		require.NoError(t, err)
		if strings.Contains(s.want, "error") {
			require.Contains(t, frames[len(frames)-2].Data, `"message":"`+s.end.Error+`"`)
			require.Contains(t, frames[len(frames)-2].Data, `"name":"RunError"`)
			require.Contains(t, string(answer["__error__"]), s.end.Error)
		} else {
			require.NotContains(t, answer, "__error__")
			require.Contains(t, answer, "messages")
		}
	}
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
	require.NotContains(t, frames[1].Data, "abc")

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

func TestTenReaders(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	p := e.play(t, "t")
	var wg sync.WaitGroup
	got := make([][]string, 10)
	errs := make([]error, 10)
	for i := range got {
		s, err := e.df.JoinStream(e.ctx, "t", run, "")
		require.NoError(t, err)
		wg.Go(func() {
			frames, err := s.All(e.ctx)
			got[i], errs[i] = plain(frames), err
			s.Close()
		})
	}
	p.story(run)
	wg.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, got[0], got[i])
	}
	require.Greater(t, len(got[0]), 15)
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

func TestCloseEndsStreamsWithoutAnEnd(t *testing.T) {
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

// narrow makes the kernel hold little of what nobody reads.
func narrow(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(16 << 10)
		_ = tcp.SetWriteBuffer(16 << 10)
	}
}

// TestSlowReader: a client that reads too slowly is dropped, holds up nobody, and
// gets the rest when it comes back.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	impatient := New(Options{
		Store: e.store, Hub: e.hub, Threads: e.threads, Files: e.server.o.Files, Logger: quiet(), WriteTimeout: 30 * time.Millisecond,
	})
	dropped := make(chan struct{})
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(dropped)
		impatient.Handler().ServeHTTP(w, r)
	}))
	web.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		narrow(c)
		return ctx
	}
	web.Start()
	t.Cleanup(func() { impatient.Close(); web.Close() })
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			narrow(c)
		}
		return c, err
	}}}
	t.Cleanup(client.CloseIdleConnections)
	run := e.say(t, "t", strings.Repeat("long ", 20<<10)) // 100 KB in every state
	path := "/threads/t/runs/" + run + "/stream"
	req, err := http.NewRequestWithContext(e.ctx, http.MethodGet, web.URL+path, nil)
	require.NoError(t, err)
	slow, err := client.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, slow.Body.Close()) }()
	p := e.play(t, "t")
	p.start(run)
	for range 12 {
		p.model("x")
		p.commit() // never waits for the reader
	}
	p.success()
	select {
	case <-dropped:
	case <-e.ctx.Done():
		t.Fatal("a reader that takes nothing holds its stream")
	}
	got, err := io.ReadAll(slow.Body)
	require.Error(t, err)
	got = got[:strings.LastIndex(string(got), "\n\n")+2] // the last frame may be cut
	require.NotContains(t, string(got), "event: end")
	at := strings.LastIndex(string(got), "\nid: ") + len("\nid: ")
	rest := e.rawStream(t, path, strings.TrimSpace(string(got[at:])))
	whole := e.rawStream(t, path, "")
	require.Len(t, string(got)+rest, len(whole), "nothing lost, nothing doubled")
	require.True(t, strings.HasPrefix(whole, string(got)))
	require.True(t, strings.HasSuffix(whole, rest))
}

func TestWait(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.Heartbeat = 5 * time.Millisecond })
	e.thread(t, "t")
	p := e.play(t, "t")
	submitted := make(chan string, 1)
	e.threads.submit = func(_ string, s step.SubmitRun) error { submitted <- s.RunID; return nil }
	type answer struct {
		*http.Response
		body string
		err  error
	}
	done, joined := make(chan answer, 1), make(chan answer, 1)
	go func() {
		res, body, err := e.fetch("POST", "/threads/t/runs/wait", hi(""), http.Header{})
		done <- answer{res, body, err}
	}()
	run := <-submitted
	go func() {
		res, body, err := e.fetch("GET", "/api/threads/t/runs/"+run+"/join", "", http.Header{})
		joined <- answer{res, body, err}
	}()
	p.start(run)
	waited, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	_, err = waited.Until(e.ctx, testkit.IsEvent("values"))
	require.NoError(t, err)
	require.NoError(t, waited.AwaitComments(e.ctx, 4)) // long enough for newlines
	waited.Close()
	p.model("hello")
	p.success()
	a, b := <-done, <-joined
	require.NoError(t, errors.Join(a.err, b.err))
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(a.body, "\n"), "newlines keep the connection alive")
	values := testkit.Values{}
	require.NoError(t, json.Unmarshal([]byte(a.body), &values))
	messages, err := values.Messages()
	require.NoError(t, err)
	require.Equal(t, "hello", messages[1].Text())
	require.JSONEq(t, a.body, b.body)

	status, header, body := e.do(t, "GET", "/threads/t/runs/"+run+"/join", "", map[string]string{"Accept": "text/event-stream"})
	require.Equal(t, 200, status)
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	require.Contains(t, body, "event: end")
}

func TestWaitEndsWithTheServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "t", "go")
	result := make(chan error, 1)
	go func() {
		_, err := e.root.JoinRun(e.ctx, "t", run)
		result <- err
	}()
	s, err := e.root.JoinStream(e.ctx, "t", run, "")
	require.NoError(t, err)
	e.server.Close()
	require.Empty(t, all(t, e, s))
	require.Equal(t, http.StatusServiceUnavailable, testkit.StatusOf(<-result))
}

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
