package cases

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// E08: two POSTs at once on one thread, for each strategy, on a new thread.
func TestE08TwoAtOnce(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply {
		return Text("answer to "+r.LastUser(), WithChunks(5), WithDelay(10*time.Millisecond))
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	for _, strategy := range []string{"reject", "interrupt", "rollback", "enqueue"} {
		t.Run(strategy, func(t *testing.T) {
			for round := range 8 {
				id := newThread(t, api)
				if round%2 == 1 {
					run(t, api, id, "before")
				}
				base := messages(t, api, id)
				var wg sync.WaitGroup
				runs := make([]Run, 2)
				errs := make([]error, 2)
				for i := range 2 {
					wg.Add(1)
					go func() {
						defer wg.Done()
						time.Sleep(time.Duration(i*round) * time.Millisecond)
						req := SayWatched(fmt.Sprintf("%s %d %d", strategy, round, i))
						req.MultitaskStrategy = strategy
						runs[i], errs[i] = api.CreateRun(ctx, id, req)
					}()
				}
				wg.Wait()
				var ends []string
				for i := range 2 {
					if errs[i] != nil {
						require.Equal(t, 409, StatusOf(errs[i]), "%v", errs[i])
						ends = append(ends, "409")
						require.Contains(t, errs[i].Error(), "run_id")
						continue
					}
					r, err := api.AwaitRun(ctx, id, runs[i].RunID)
					require.NoError(t, err)
					ends = append(ends, r.Status)
				}
				list := messages(t, api, id)
				t.Logf("%d: %v %q", round, ends, shape(list[len(base):]))
				all, err := api.Runs(ctx, id)
				require.NoError(t, err)
				for _, r := range all {
					require.True(t, r.Finished())
				}
				humans, ais := 0, 0
				for _, x := range list[len(base):] {
					switch x.Type {
					case "human":
						humans++
					case "ai":
						ais++
					}
				}
				switch strategy {
				case "reject":
					require.ElementsMatch(t, []string{"409", "success"}, ends)
					require.Len(t, list, len(base)+2)
				case "enqueue":
					require.Equal(t, []string{"success", "success"}, ends)
					require.Len(t, list, len(base)+4)
				case "rollback":
					require.Equal(t, 1, humans)
					require.Equal(t, 1, ais)
				case "interrupt":
					require.Equal(t, 2, humans, "no message is lost")
				}
				require.Equal(t, "success", run(t, api, id, "after").Status)
			}
		})
	}
}

// Double cancel, cancel before start, cancel of queued runs, delete under way.
func TestCancelEdges(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("hold")).Respond(func(*Request) Reply { return Text("held text here", WithChunks(3), At(2, Hold(gate))) })
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)

	t.Run("cancel at once", func(t *testing.T) {
		for i := range 10 {
			id := newThread(t, api)
			r, err := api.CreateRun(ctx, id, SayWatched("hold"))
			require.NoError(t, err)
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			var wg sync.WaitGroup
			for range 3 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					err := api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true})
					if err != nil && StatusOf(err) != 409 {
						t.Errorf("cancel: %v", err)
					}
				}()
			}
			wg.Wait()
			r, err = api.AwaitRun(ctx, id, r.RunID)
			require.NoError(t, err)
			require.Equal(t, "interrupted", r.Status)
			list := messages(t, api, id)
			require.NotEmpty(t, list, "the message stays")
			require.Equal(t, "hold", list[0].Text())
			th, err := api.Thread(ctx, id)
			require.NoError(t, err)
			require.Equal(t, "idle", th.Status)
			require.Equal(t, "success", run(t, api, id, "after").Status)
		}
	})
	gate.Release()
}

// E01, E02 (gap), E06, E16, many readers.
func TestE0106Readers(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("first")).Always(Text("first answer"))
	m.On(LastUser("second")).Respond(func(*Request) Reply {
		return Text(strings.Repeat("word ", 400), WithChunks(400), At(200, Hold(gate)))
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	id := newThread(t, api)
	run(t, api, id, "first")
	s, err := api.StreamRun(ctx, id, SayWatched("second"))
	require.NoError(t, err)
	<-gate.Reached()
	list := messages(t, api, id)
	require.GreaterOrEqual(t, len(list), 3, "history holds the second question")
	require.Equal(t, "second", list[2].Text())
	s.Close() // the tab is closed
	var streams []*SSE
	for i := range 50 {
		x, err := api.JoinStream(ctx, id, s.RunID(), []string{"", "-1", "0", "3"}[i%4])
		require.NoError(t, err)
		streams = append(streams, x)
	}
	for _, x := range streams[40:] {
		x.Close()
	}
	gate.Release()
	var want string
	for i, x := range streams[:40] {
		frames, err := x.All(ctx)
		require.NoError(t, err)
		noDoubles(t, frames)
		text := ""
		for _, f := range frames {
			if f.Event == "messages" {
				var pair []Message
				require.NoError(t, f.Decode(&pair))
				if strings.HasPrefix(strings.ToLower(pair[0].Type), "ai") {
					text += pair[0].Text()
				}
			}
		}
		require.Equal(t, "end", frames[len(frames)-1].Event)
		if want == "" {
			want = text
		}
		require.Equal(t, want, text, "reader %d", i)
	}
	require.Equal(t, want, strings.Repeat("word ", 400))
	r, err := api.AwaitRun(ctx, id, s.RunID())
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	for _, bad := range []string{"99999999", "abc", "-5", "1e9", "9223372036854775808", "\u00e4"} {
		x, err := api.JoinStream(ctx, id, s.RunID(), bad)
		if err != nil {
			require.Equal(t, 4, StatusOf(err)/100, "%v", err)
			continue
		}
		frames, err := x.All(ctx)
		t.Logf("Last-Event-ID %s: %d frames, %v", bad, len(frames), err)
		if len(frames) > 0 {
			require.Contains(t, []string{"end"}, frames[len(frames)-1].Event)
		}
	}
	th, err := api.SearchThreads(ctx, map[string]any{"limit": 5})
	require.NoError(t, err)
	for _, x := range th {
		_, err := time.Parse(time.RFC3339, x.CreatedAt)
		require.NoError(t, err)
		_, err = time.Parse(time.RFC3339, x.UpdatedAt)
		require.NoError(t, err)
	}
}

// E09: what the SDKs send by default.
func TestE09SDKDefaults(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	in := `"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"hi"}]}`
	for _, tc := range []struct {
		body string
		want int
		name string
	}{
		{`{` + in + `,"stream_resumable":false,"stream_mode":"values","stream_subgraphs":false,"if_not_exists":"create","on_disconnect":"cancel","multitask_strategy":null,"checkpoint":null,"checkpoint_id":null,"interrupt_before":null,"interrupt_after":[],"webhook":null,"feedback_keys":null,"command":null,"metadata":null,"config":null,"context":null,"after_seconds":null,"checkpoint_during":null,"durability":null,"on_completion":null}`, 200, ""},
		{`{` + in + `,"stream_mode":["messages-tuple","values","custom"]}`, 200, ""},
		{`{` + in + `,"stream_mode":["messages"]}`, 200, ""},
		{`{` + in + `,"stream_mode":["events"]}`, 0, "stream_mode"},
		{`{` + in + `,"stream_mode":["nonsense"]}`, 422, "stream_mode"},
		{`{` + in + `,"stream_mode":5}`, 422, "stream_mode"},
		{`{` + in + `,"webhook":"http://x"}`, 422, "webhook"},
		{`{` + in + `,"multitask_strategy":"nope"}`, 422, "multitask_strategy"},
		{`{` + in + `,"interrupt_before":["x"]}`, 422, "interrupt_before"},
		{`{` + in + `,"after_seconds":5}`, 422, "after_seconds"},
		{`{` + in + `,"command":{"goto":"x"}}`, 422, "goto"},
		{`{` + in + `,"config":{"configurable":{"thread_id":"other"}}}`, 200, ""},
	} {
		id := newThread(t, api)
		var raw []byte
		_, err := api.Do(ctx, "POST", "/threads/"+id+"/runs/stream", []byte(tc.body), &raw)
		if tc.want == 422 {
			require.Equal(t, 422, StatusOf(err), "%s: %v", tc.body, err)
			require.Contains(t, err.Error(), tc.name)
			continue
		}
		if tc.want == 0 && err != nil {
			require.Contains(t, err.Error(), tc.name)
			continue
		}
		require.NoError(t, err, tc.body)
		require.Contains(t, string(raw), "event: end")
	}
	// a thread that does not exist
	var raw []byte
	_, err := api.Do(ctx, "POST", "/threads/11111111-2222-4333-8444-555555555555/runs/stream", []byte(`{`+in+`}`), &raw)
	require.Equal(t, 404, StatusOf(err))
	_, err = api.Do(ctx, "POST", "/threads/11111111-2222-4333-8444-555555555555/runs/stream", []byte(`{`+in+`,"if_not_exists":"create"}`), &raw)
	require.NoError(t, err)
}

// E11 and M01: sizes.
func TestM01Sizes(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("big answer")).Always(Text(strings.Repeat("a", 3<<20), WithChunks(20)))
	m.On(AnyMessage("big tool")).Respond(ByTurn(
		ToolCalls(call("b1", "bash", map[string]any{"description": "d", "command": "head -c 4000000 /dev/zero | tr '\\0' 'x'"})),
		ToolCalls(call("b2", "write_file", map[string]any{"description": "d", "path": "/mnt/user-data/outputs/x.md", "content": strings.Repeat("line of text\n", 200000)})),
		ToolCalls(call("b3", "bash", map[string]any{"description": strings.Repeat("d", 3<<20), "command": "true"})),
		ToolCalls(call(strings.Repeat("i", 3000), "ls", map[string]any{"description": "d", "path": "/" + strings.Repeat("p", 3<<20)})),
		ToolCalls(ask("b5", strings.Repeat("q", 3<<20))),
	))
	m.On(LastUser("many calls")).Respond(ByTurn(func() Reply {
		var calls []Call
		for i := range 300 {
			calls = append(calls, call(fmt.Sprintf("m%d", i), "ls", map[string]any{"description": strings.Repeat("d", 10000), "path": "/mnt/user-data"}))
		}
		return ToolCalls(calls...)
	}(), Text("fine")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	for _, what := range []string{"big answer", "big tool", "many calls"} {
		t.Run(what, func(t *testing.T) {
			id := newThread(t, api)
			r := run(t, api, id, what)
			list := messages(t, api, id)
			for _, q := range m.RequestsTo(AnyMessage(what)) {
				t.Logf("request %d at %s, %d bytes", q.N, q.Time.Format("05.000"), len(q.Body))
			}
			t.Logf("%s %q", r.Status, shape(list[max(0, len(list)-12):]))
			require.Equal(t, "success", r.Status)
			require.Equal(t, "success", run(t, api, id, "on").Status)
		})
	}
	t.Run("big prompt", func(t *testing.T) {
		ctx := patient(t)
		id := newThread(t, api)
		r := run(t, api, id, strings.Repeat("p", 3<<20))
		require.Equal(t, "success", r.Status)
		req := SayWatched(strings.Repeat("q", 3<<20))
		req.MultitaskStrategy = "enqueue"
		r2, err := api.CreateRun(ctx, id, req)
		require.NoError(t, err)
		r, err = api.AwaitRun(ctx, id, r2.RunID)
		require.NoError(t, err)
		require.Equal(t, "success", r.Status)
		_, err = api.CreateRun(ctx, id, SayWatched(strings.Repeat("p", 40<<20)))
		t.Logf("40 MB: %.200v", err)
		require.Equal(t, 413, StatusOf(err))
	})
	t.Run("big answer to a question", func(t *testing.T) {
		m.On(LastUser("please ask")).Always(ToolCalls(ask("pq", "What?")))
		id := newThread(t, api)
		run(t, api, id, "please ask")
		r := do(t, api, id, Resume(strings.Repeat("r", 3<<20)))
		require.Equal(t, "success", r.Status)
		require.Equal(t, "fine", last(messages(t, api, id)).Text())
	})
}
