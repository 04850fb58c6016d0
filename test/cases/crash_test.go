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

// kill right after submit, at several distances.
func TestCrashRightAfterSubmit(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply {
		return Text("answer to "+r.LastUser(), WithChunks(3), WithDelay(5*time.Millisecond))
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	for i, wait := range []time.Duration{0, 2, 5, 10, 20, 30, 45, 60} {
		id := newThread(t, p.API())
		_, err := p.API().CreateRun(patient(t), id, SayWatched(fmt.Sprintf("q%d", i)))
		require.NoError(t, err)
		time.Sleep(wait * time.Millisecond)
		p.Kill9()
		p = restarted(p)
		begin := time.Now()
		awaitAll(t, p.API(), id, "success")
		took := time.Since(begin)
		list := messages(t, p.API(), id)
		t.Logf("%v: %v %q", wait, took.Round(time.Millisecond), shape(list))
		require.Equal(t, []string{fmt.Sprintf("human: q%d", i), fmt.Sprintf("ai: answer to q%d", i)}, shape(list))
		require.Equal(t, "success", run(t, p.API(), id, "after").Status)
		require.Len(t, messages(t, p.API(), id), 4)
	}
}

// kill in a parallel batch with reads, writes and commands; twice in a row.
func TestCrashInBatch(t *testing.T) {
	m := NewModel(t)
	m.On(AnyMessage("batch")).Respond(ByTurn(
		ToolCalls(
			call("c1", "bash", map[string]any{"description": "d", "command": "echo once >> effect.txt; sleep 3; echo twice >> effect.txt"}),
			ls("c2", "/mnt/user-data"),
			writeFile("c3", "w.md", "written"),
			call("c4", "write_file", map[string]any{"description": "d", "path": "/mnt/user-data/outputs/app.md", "content": "line\n", "append": true}),
			call("c5", "bash", map[string]any{"description": "d", "command": "echo five >> five.txt; sleep 3"}),
		), Text("fine")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	s, err := p.API().StreamRun(patient(t), id, SayWatched("batch"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(userDir(p, id), "workspace", "effect.txt"))
		_, err2 := os.Stat(filepath.Join(userDir(p, id), "workspace", "five.txt"))
		return err == nil && err2 == nil
	}, patience, 5*time.Millisecond)
	before, err := s.Until(patient(t), IsEvent("messages"))
	require.NoError(t, err)
	p.Kill9()
	p = restarted(p)
	time.Sleep(100 * time.Millisecond)
	p.Kill9()
	p = restarted(p)
	again, err := s.Reconnect(patient(t))
	require.NoError(t, err)
	after, err := again.Until(patient(t), IsEvent("end"))
	require.NoError(t, err)
	noDoubles(t, append(before, after...))
	awaitAll(t, p.API(), id, "success")
	list := messages(t, p.API(), id)
	t.Logf("%q", shape(list))
	require.Len(t, list, 8)
	data, _ := os.ReadFile(filepath.Join(userDir(p, id), "workspace", "effect.txt"))
	require.Equal(t, "once\n", string(data))
	data, _ = os.ReadFile(filepath.Join(userDir(p, id), "workspace", "five.txt"))
	require.Equal(t, "five\n", string(data))
	data, _ = os.ReadFile(filepath.Join(userDir(p, id), "outputs", "app.md"))
	require.Equal(t, "line\n", string(data))
	require.Equal(t, "success", run(t, p.API(), id, "after").Status)
}

// kill right after the final message frame; with two runs queued; during cancel.
func TestCrashAtTheEnd(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply { return Text("answer to "+r.LastUser(), WithChunks(2)) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	total := 0
	for i, wait := range []time.Duration{0, 1, 3, 6, 10, 15} {
		q := fmt.Sprintf("q%d", i)
		s, err := p.API().StreamRun(patient(t), id, SayWatched(q))
		require.NoError(t, err)
		seen := ""
		_, err = s.Until(patient(t), func(f Frame) bool {
			if f.Event == "messages" {
				var pair []Message
				require.NoError(t, f.Decode(&pair))
				if pair[0].Type != "human" {
					seen += pair[0].Text()
				}
			}
			return strings.Contains(seen, "answer to "+q)
		})
		require.NoError(t, err)
		time.Sleep(wait * time.Millisecond)
		p.Kill9()
		p = restarted(p)
		awaitAll(t, p.API(), id, "success")
		total += 2
		list := messages(t, p.API(), id)
		t.Logf("%v: %q", wait, shape(list))
		require.Len(t, list, total)
		require.Equal(t, "answer to "+q, last(list).Text())
		r := run(t, p.API(), id, "more "+q) // at once
		require.Equal(t, "success", r.Status)
		total += 2
		require.Len(t, messages(t, p.API(), id), total)
	}
}

func TestCrashWithQueue(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.On(LastUser("hold")).Respond(func(r *Request) Reply { return Text("held", WithChunks(2), At(1, Hold(gate))) })
	m.Respond(func(r *Request) Reply { return Text("answer to "+r.LastUser(), WithChunks(2)) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	_, err := p.API().CreateRun(patient(t), id, SayWatched("hold"))
	require.NoError(t, err)
	<-gate.Reached()
	var q []Run
	for i := range 3 {
		req := SayWatched(fmt.Sprintf("q%d", i))
		req.MultitaskStrategy = "enqueue"
		x, err := p.API().CreateRun(patient(t), id, req)
		require.NoError(t, err)
		q = append(q, x)
	}
	require.NoError(t, p.API().CancelRun(patient(t), id, q[1].RunID, CancelOptions{}))
	p.Kill9()
	p = restarted(p)
	time.Sleep(150 * time.Millisecond)
	p.Kill9()
	gate.Release()
	p = restarted(p)
	awaitAll(t, p.API(), id, "success", "interrupted")
	list := messages(t, p.API(), id)
	t.Logf("%q", shape(list))
	require.Equal(t, []string{"human: hold", "ai: held", "human: q0", "ai: answer to q0", "human: q2", "ai: answer to q2"}, shape(list))
	require.Equal(t, "success", run(t, p.API(), id, "after").Status)
}

func TestCrashDuringCancel(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("hold")).Always(ToolCalls(call("s1", "bash", map[string]any{"description": "w", "command": "sleep 304.1"}), ls("s2", "/mnt/user-data")))
	m.Respond(func(r *Request) Reply { return Text("answer to "+r.LastUser(), WithChunks(2)) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	for i, action := range []string{"interrupt", "rollback", "interrupt", "rollback"} {
		id := newThread(t, p.API())
		require.Equal(t, "success", run(t, p.API(), id, "before").Status)
		r, err := p.API().CreateRun(patient(t), id, SayWatched("hold"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(messages(t, p.API(), id)) >= 4 }, patience, 10*time.Millisecond)
		require.NoError(t, p.API().CancelRun(patient(t), id, r.RunID, CancelOptions{Action: action}))
		if i >= 2 {
			time.Sleep(3 * time.Millisecond)
		}
		p.Kill9()
		p = restarted(p)
		awaitAll(t, p.API(), id)
		r, err = p.API().Run(patient(t), id, r.RunID)
		require.NoError(t, err)
		list := messages(t, p.API(), id)
		t.Logf("%s: %s %q", action, r.Status, shape(list))
		if action == "rollback" {
			require.Equal(t, "error", r.Status)
			require.Len(t, list, 2)
		} else {
			require.Equal(t, "interrupted", r.Status)
			require.Len(t, list, 6)
		}
		require.Equal(t, "success", run(t, p.API(), id, "after").Status)
	}
}

func TestCrashTwentyThreads(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply {
		if r.Turn() < 4 {
			return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/%d", r.Turn()))).With(WithDelay(5 * time.Millisecond))
		}
		return Text("answer to "+r.LastUser(), WithChunks(4), WithDelay(10*time.Millisecond))
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	var ids []string
	var wg sync.WaitGroup
	for i := range 20 {
		id := newThread(t, p.API())
		ids = append(ids, id)
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, _ = p.API().CreateRun(patient(t), id, SayWatched(fmt.Sprintf("q%d", i)))
		}()
	}
	wg.Wait()
	time.Sleep(250 * time.Millisecond)
	p.Kill9()
	p = restarted(p)
	time.Sleep(300 * time.Millisecond)
	p.Kill9()
	begin := time.Now()
	p = restarted(p)
	for i, id := range ids {
		awaitAll(t, p.API(), id, "success")
		list := messages(t, p.API(), id)
		require.Len(t, list, 10, "%d %q", i, shape(list))
		require.Equal(t, fmt.Sprintf("answer to q%d", i), last(list).Text())
	}
	t.Logf("all done %v after the restart began, ready in %v", time.Since(begin), p.ReadyIn)
	for _, id := range ids[:5] {
		require.Equal(t, "success", run(t, p.API(), id, "after").Status)
	}
}

// M08: continue-as-new with a queue, a question and a reader; kills in between.
func TestM08ContinueAsNew(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("look")).Respond(func(r *Request) Reply {
		switch {
		case r.Turn() < 6:
			return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/%d", r.Turn())), call("", "glob", map[string]any{"description": "d", "path": "/mnt/user-data", "pattern": fmt.Sprintf("*%d", r.Turn())}))
		default:
			return ToolCalls(ask("call_0", "Which one?"))
		}
	})
	m.On(LastUser("my answer is")).Respond(func(r *Request) Reply {
		if r.Turn() < 6 {
			return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/b%d", r.Turn())))
		}
		return Text("done")
	})
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	for round := range 2 {
		id := newThread(t, p.API())
		s, err := p.API().StreamRun(patient(t), id, SayWatched("look"))
		require.NoError(t, err)
		frames, err := s.Until(patient(t), IsEvent("end"))
		require.NoError(t, err)
		noDoubles(t, frames)
		th, err := p.API().Thread(patient(t), id)
		require.NoError(t, err)
		require.Equal(t, "interrupted", th.Status)
		if round == 1 {
			p.Kill9()
			p = restarted(p)
		}
		req := Resume("this")
		req.StreamMode = WatchModes()
		s, err = p.API().StreamRun(patient(t), id, req)
		require.NoError(t, err)
		for i := range 3 {
			q := SayWatched(fmt.Sprintf("q%d", i))
			q.MultitaskStrategy = "enqueue"
			_, err := p.API().CreateRun(patient(t), id, q)
			require.NoError(t, err)
		}
		if round == 1 {
			time.Sleep(50 * time.Millisecond)
			p.Kill9()
			p = restarted(p)
			s, err = s.Reconnect(patient(t))
			require.NoError(t, err)
		}
		frames, err = s.Until(patient(t), IsEvent("end"))
		require.NoError(t, err)
		noDoubles(t, frames)
		awaitAll(t, p.API(), id, "success")
		list := messages(t, p.API(), id)
		t.Logf("%q", shape(list))
		require.Len(t, list, 1+6*3+2+1+6*2+1+6)
	}
}

// M10, M04, M14
func TestM10Outage(t *testing.T) {
	m := NewModel(t)
	begin := time.Now()
	m.Respond(func(r *Request) Reply {
		if time.Since(begin) < 5*time.Second {
			return APIError(503, "", "try later")
		}
		return Text("back")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	begin = time.Now()
	id := newThread(t, p.API())
	s, err := p.API().StreamRun(patient(t), id, SayWatched("go"))
	require.NoError(t, err)
	frames, err := s.Until(patient(t), IsEvent("end"))
	require.NoError(t, err)
	retries := 0
	for _, f := range frames {
		if strings.Contains(f.Data, "llm_retry") {
			retries++
		}
	}
	require.NotZero(t, retries)
	t.Logf("%d retries told, %d requests", retries, len(m.Requests()))
	require.Equal(t, []string{"human: go", "ai: back"}, shape(messages(t, p.API(), id)))
}
