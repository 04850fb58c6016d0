package api

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
