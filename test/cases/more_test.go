package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// Two questions in one message, answered one by one and by id; kill in between.
func TestTwoQuestions(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("ask")).Always(ToolCalls(ask("q1", "One?"), ask("q2", "Two?"), ls("l", "/mnt/user-data")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	run(t, p.API(), id, "ask")
	r := do(t, p.API(), id, Resume(map[string]any{"clarification:q2": "zwei"}))
	t.Logf("%s %q", r.Status, shape(messages(t, p.API(), id)))
	th, err := p.API().Thread(patient(t), id)
	require.NoError(t, err)
	require.Equal(t, "interrupted", th.Status)
	p.Kill9()
	p = restarted(p)
	r = do(t, p.API(), id, Resume(map[string]any{"clarification:q1": "eins"}))
	require.Equal(t, "success", r.Status)
	t.Logf("%q", shape(messages(t, p.API(), id)))
	require.Equal(t, "fine", last(messages(t, p.API(), id)).Text())
	// A plain message instead of answers.
	id = newThread(t, p.API())
	run(t, p.API(), id, "ask")
	require.Equal(t, "success", run(t, p.API(), id, "never mind").Status)
	t.Logf("%q", shape(messages(t, p.API(), id)))
	require.Equal(t, "fine", last(messages(t, p.API(), id)).Text())
}

// A23 in the eyes of a reader; A16 for ever; on_disconnect.
func TestA23Reader(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("cut")).Enqueue(
		Steps(Send(text("one two three four")), Pause(100*time.Millisecond), Send(text(" five")), Cut()),
		Text("entirely different", WithChunks(3)))
	m.On(LastUser("markup")).Always(Text(`<tool_call>{"name":"ls","arguments":{}}</tool_call>`))
	m.On(LastUser("hang")).Always(Text("a b c d", WithChunks(4), At(2, Hang())))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "  retry_max_attempts: 4")})
	api := p.API()
	id := newThread(t, api)
	s, err := api.StreamRun(patient(t), id, SayWatched("cut"))
	require.NoError(t, err)
	frames, err := s.All(patient(t))
	require.NoError(t, err)
	shown := ""
	for _, f := range frames {
		if f.Event == "messages" {
			var pair []Message
			require.NoError(t, f.Decode(&pair))
			switch {
			case pair[0].Type == "remove":
				shown = ""
			case strings.HasPrefix(strings.ToLower(pair[0].Type), "ai"):
				shown += pair[0].Text()
			}
		}
	}
	require.Equal(t, "entirely different", shown)
	again, err := api.JoinStream(patient(t), id, s.RunID(), "0")
	require.NoError(t, err)
	replay, err := again.All(patient(t))
	require.NoError(t, err)
	shown = ""
	for _, f := range replay {
		if f.Event == "messages" {
			var pair []Message
			require.NoError(t, f.Decode(&pair))
			switch {
			case pair[0].Type == "remove":
				shown = ""
			case strings.HasPrefix(strings.ToLower(pair[0].Type), "ai"):
				shown += pair[0].Text()
			}
		}
	}
	require.Equal(t, "entirely different", shown, "replay")
	require.Equal(t, []string{"human: cut", "ai: entirely different"}, shape(messages(t, api, id)))

	id = newThread(t, api)
	r := run(t, api, id, "markup")
	n := len(m.RequestsTo(LastUser("markup")))
	t.Logf("%s %d requests %q", r.Status, n, shape(messages(t, api, id)))
	require.Equal(t, "error", r.Status)
	require.LessOrEqual(t, n, 5)

	// on_disconnect
	for _, mode := range []string{"cancel", "continue"} {
		id = newThread(t, api)
		req := SayWatched("hang")
		req.OnDisconnect = mode
		s, err = api.StreamRun(patient(t), id, req)
		require.NoError(t, err)
		_, err = s.Until(patient(t), IsEvent("messages"))
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		s.Close()
		if mode == "cancel" {
			_, err = api.AwaitRun(patient(t), id, s.RunID(), "interrupted")
			require.NoError(t, err)
			continue
		}
		time.Sleep(500 * time.Millisecond)
		r, err = api.Run(patient(t), id, s.RunID())
		require.NoError(t, err)
		require.Equal(t, "running", r.Status)
		begin := time.Now()
		require.NoError(t, api.CancelRun(patient(t), id, s.RunID(), CancelOptions{Wait: true}))
		require.Less(t, time.Since(begin), 5*time.Second)
		list := messages(t, api, id)
		require.Contains(t, last(list).Text(), "a b", "the stopped answer keeps its text")
		t.Logf("%v", last(list).AdditionalKwargs)
	}
}

// E18: 200 steps of 20 KB, mode values; a reader that sleeps.
func TestE18Values(t *testing.T) {
	m := NewModel(t)
	m.On(AnyMessage("steps!")).Respond(func(r *Request) Reply {
		if r.Turn() < 40 {
			return ToolCalls(call("", []string{"bash", "glob", "ls", "grep"}[r.Turn()%4], map[string]any{"description": "d", "command": fmt.Sprintf("head -c 20000 /dev/zero | tr '\\0' '%d'", r.Turn()%10), "path": fmt.Sprintf("/mnt/user-data/%d", r.Turn()), "pattern": fmt.Sprintf("p%d", r.Turn())}))
		}
		return Text("done")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	slow, err := api.StreamRun(patient(t), id, SayWatched("steps!"))
	require.NoError(t, err)
	fast, err := api.JoinStream(patient(t), id, slow.RunID(), "-1")
	require.NoError(t, err)
	// The slow reader has not read a byte; it holds up neither the run nor the other.
	quick, err := fast.Until(patient(t), IsEvent("end"))
	require.NoError(t, err)
	late, err := slow.Until(patient(t), IsEvent("end"))
	require.NoError(t, err)
	require.Len(t, late, len(quick), "both see the same")
	content := 0
	for _, x := range messages(t, api, id) {
		content += len(x.Content)
	}
	values, others := 0, 0
	for _, f := range late {
		require.NotContains(t, f.Data, ";base64,")
		if f.Event == "values" {
			values++
		} else {
			others += len(f.Data)
		}
	}
	// The state may be repeated once a step; all else grows with what is new.
	const steps = 2*40 + 1
	require.LessOrEqual(t, values, steps+3)
	require.Less(t, others, 4*content+steps*2048, "content has %d bytes", content)
}

// E19, E13: SIGTERM with several things under way; restart.
func TestE19Shutdown(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("tool")).Respond(ByTurn(ToolCalls(call("c", "bash", map[string]any{"description": "d", "command": "echo x >> out.txt; sleep 60"})), Text("fine")))
	m.On(LastUser("stream")).Enqueue(Text("a b c", WithChunks(3), At(2, Hang())))
	m.On(LastUser("ask")).Always(ToolCalls(ask("q", "What?")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ids := map[string]string{}
	for _, what := range []string{"tool", "stream", "ask"} {
		ids[what] = newThread(t, api)
		_, err := api.CreateRun(patient(t), ids[what], SayWatched(what))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(userDir(p, ids["tool"]), "workspace", "out.txt"))
		return err == nil
	}, patience, 10*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	code, took := p.Stop()
	t.Logf("exit %d in %v", code, took)
	require.Zero(t, code)
	require.Less(t, took, 10*time.Second)
	p = restarted(p)
	for _, what := range []string{"tool", "stream", "ask"} {
		awaitAll(t, p.API(), ids[what], "success")
		t.Logf("%s %q", what, shape(messages(t, p.API(), ids[what])))
	}
	data, _ := os.ReadFile(filepath.Join(userDir(p, ids["tool"]), "workspace", "out.txt"))
	require.Equal(t, "x\n", string(data))
	require.Equal(t, "success", do(t, p.API(), ids["ask"], Resume("x")).Status)
}

// The model is changed in mid-thread (A18 variant): with and without thinking.
func TestA18ModelSwitch(t *testing.T) {
	plain := NewModel(t)
	think := NewModel(t, WithThinking())
	cfg := fmt.Sprintf(`models:
  - name: plain
    use: openai
    model: plain
    api_key: k
    base_url: %s
  - name: think
    use: openai
    model: think
    api_key: k
    base_url: %s
    supports_thinking: true
`, plain.URL(), think.URL())
	for _, m := range []*Model{plain, think} {
		m.On(LastUser("tools")).Respond(ByTurn(ToolCalls(ls("", "/mnt/user-data")).With(WithReasoning("because")), Text("fine")))
		m.Respond(func(r *Request) Reply { return Text("fine") })
	}
	p := StartDev(t, DevOptions{Config: cfg})
	id := newThread(t, p.API())
	for i, name := range []string{"plain", "think", "plain", "think"} {
		req := SayWatched(fmt.Sprintf("tools %d", i))
		req.Context = map[string]any{"model_name": name}
		r := do(t, p.API(), id, req)
		require.Equal(t, "success", r.Status, name)
	}
}

// Idempotency and threads that vanish.
func TestIdempotencyAndVanishing(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply { return Text("fine", WithDelay(50*time.Millisecond)) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API().WithHeader("Idempotency-Key", "k1")
	id := newThread(t, api)
	var wg sync.WaitGroup
	runs := make([]Run, 6)
	for i := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			runs[i], err = api.CreateRun(patient(t), id, SayWatched("once"))
			if err != nil {
				t.Errorf("%v", err)
			}
		}()
	}
	wg.Wait()
	for _, r := range runs {
		require.Equal(t, runs[0].RunID, r.RunID)
	}
	awaitAll(t, api, id, "success")
	require.Len(t, messages(t, api, id), 2)
	p.Kill9()
	p = restarted(p)
	r, err := p.API().WithHeader("Idempotency-Key", "k1").CreateRun(patient(t), id, SayWatched("once"))
	require.NoError(t, err)
	require.Equal(t, runs[0].RunID, r.RunID)
	require.Len(t, messages(t, p.API(), id), 2)
	// files removed under a thread
	require.NoError(t, os.RemoveAll(filepath.Join(p.DataDir, "users")))
	m.On(LastUser("files")).Respond(ByTurn(ToolCalls(writeFile("", "a.md", "x"), sh("echo hi > b; cat b")), Text("fine")))
	require.Equal(t, "success", run(t, p.API(), id, "files").Status)
	t.Logf("%q", shape(messages(t, p.API(), id)))
}
