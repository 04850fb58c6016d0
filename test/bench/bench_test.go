package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deerflow/internal/testkit"
)

// TestBench prints the figures. It needs a quiet machine and a minute or two;
// DEERFLOW_BENCH names the parts to run, such as "step,resume".
func TestBench(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	s := &sheet{t: t}
	defer s.print()
	m := testkit.NewModel(t)
	m.On(testkit.LastUser("turns=")).Respond(looksAround)
	s.add(figure{name: "fdatasync p50 of this disk", value: ms(fdatasync(t)), unit: "ms"})
	p := testkit.StartDev(t, testkit.DevOptions{Config: configFor(m)})
	s.add(figure{name: "start to healthy", value: p.ReadyIn.Seconds(), unit: "s", bar: 2})
	time.Sleep(3 * time.Second) // idle is what is measured
	s.add(figure{name: "memory when idle", value: residentMB(t, p.Pid()), unit: "MB", bar: 350})
	only := os.Getenv("DEERFLOW_BENCH")
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"step", func() { durableStep(ctx, s, p) }},
		{"syncs", func() { syncsPerTurn(ctx, s, p) }},
		{"growth", func() { growth(ctx, s, p) }},
		{"throughput", func() { throughput(ctx, s, p) }},
		{"token", func() { firstToken(ctx, s, p, m) }},
		{"relay", func() { relay(ctx, s, p, m) }},
		{"stop", func() { stopLatency(ctx, s, p, m) }},
		{"resume", func() { resume(ctx, s, m) }},
		{"split", func() { resumeSplit(ctx, s, m) }},
		{"sandbox", func() { startOfCommands(ctx, s) }},
		{"grep", func() { grepFiles(ctx, s) }},
		{"overhead", func() { toolOverhead(ctx, s, p, m) }},
	} {
		if only == "" || strings.Contains(only, part.name) {
			part.run()
		}
	}
}

func fdatasync(t *testing.T) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sync"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var all []time.Duration
	for range 200 {
		_, err := f.Write(make([]byte, 4096))
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, unix.Fdatasync(int(f.Fd())))
		all = append(all, time.Since(begin))
	}
	return percentile(all, .5)
}

func ask(ctx context.Context, s *sheet, api *testkit.API, thread string, turns int) {
	_, err := api.WaitRun(ctx, thread, question(turns))
	require.NoError(s.t, err)
}

func durableStep(ctx context.Context, s *sheet, p *testkit.Process) {
	api, db := p.API(), openStore(s.t, p.DataDir)
	ask(ctx, s, api, newThread(ctx, s.t, api), 20) // warm
	thread := newThread(ctx, s.t, api)
	ask(ctx, s, api, thread, 100)
	steps := stepTimes(ctx, s.t, db, thread)
	s.add(figure{name: "durable step p50", value: ms(percentile(steps, .5)), unit: "ms", bar: 12, note: "one activity and its row; the model answers over HTTP"})
	s.add(figure{name: "durable step p95", value: ms(percentile(steps, .95)), unit: "ms"})
}

func throughput(ctx context.Context, s *sheet, p *testkit.Process) {
	const threads, turns = 50, 10
	api := p.API()
	ids := make([]string, threads)
	for i := range ids {
		ids[i] = newThread(ctx, s.t, api)
	}
	var wg sync.WaitGroup
	begin := time.Now()
	for _, id := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := api.WaitRun(ctx, id, question(turns)); err != nil {
				s.t.Errorf("run under load: %v", err)
			}
		}()
	}
	wg.Wait()
	steps := float64(threads * (2*turns + 1))
	s.add(figure{name: "durable steps a second, 50 threads", value: steps / time.Since(begin).Seconds(), unit: "1/s", bar: 150, least: true})
}

// firstToken measures from the model's first byte to the reader's frame.
func firstToken(ctx context.Context, s *sheet, p *testkit.Process, m *testkit.Model) {
	api := p.API()
	var sent time.Time
	m.On(testkit.LastUser("first token")).Respond(func(*testkit.Request) testkit.Reply {
		return testkit.Text("hello there", testkit.WithChunks(2), testkit.At(0, testkit.Do(func() { sent = time.Now() })))
	})
	var all []time.Duration
	thread := newThread(ctx, s.t, api)
	for range 30 {
		r := testkit.Say("first token")
		r.StreamMode = []string{"messages-tuple"}
		stream, err := api.StreamRun(ctx, thread, r)
		require.NoError(s.t, err)
		frames, err := stream.Until(ctx, func(f testkit.Frame) bool {
			return f.Event == "messages" && strings.Contains(f.Data, "AIMessageChunk")
		})
		require.NoError(s.t, err)
		all = append(all, frames[len(frames)-1].At.Sub(sent))
		_, err = stream.Until(ctx, testkit.IsEvent("end"))
		require.NoError(s.t, err)
		stream.Close()
	}
	s.add(figure{name: "added latency of the first token p50", value: ms(percentile(all, .5)), unit: "ms", bar: 30})
	s.add(figure{name: "added latency of the first token p95", value: ms(percentile(all, .95)), unit: "ms"})
}

func relay(ctx context.Context, s *sheet, p *testkit.Process, m *testkit.Model) {
	const tokens = 20000
	m.On(testkit.LastUser("relay")).Respond(func(*testkit.Request) testkit.Reply {
		return testkit.Text(strings.Repeat("word ", tokens), testkit.WithChunks(tokens))
	})
	api := p.API()
	r := testkit.Say("relay")
	r.StreamMode = []string{"messages-tuple"}
	begin := time.Now()
	stream, err := api.StreamRun(ctx, newThread(ctx, s.t, api), r)
	require.NoError(s.t, err)
	defer stream.Close()
	_, err = stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(s.t, err)
	s.add(figure{name: "relay rate of one run", value: tokens / time.Since(begin).Seconds(), unit: "tokens/s", bar: 2000, least: true})
}

func stopLatency(ctx context.Context, s *sheet, p *testkit.Process, m *testkit.Model) {
	api := p.API()
	gates := make(chan *testkit.Gate, 1)
	m.On(testkit.LastUser("stop me")).Respond(func(*testkit.Request) testkit.Reply {
		g := <-gates
		return testkit.Text("a b c d", testkit.WithChunks(4), testkit.At(2, testkit.Hold(g)))
	})
	var closed []time.Duration
	for range 15 {
		g := testkit.NewGate()
		gates <- g
		thread := newThread(ctx, s.t, api)
		run, err := api.CreateRun(ctx, thread, testkit.Say("stop me"))
		require.NoError(s.t, err)
		<-g.Reached()
		requests := m.RequestsTo(testkit.LastUser("stop me"))
		begin := time.Now()
		require.NoError(s.t, api.CancelRun(ctx, thread, run.RunID, testkit.CancelOptions{}))
		<-requests[len(requests)-1].Closed()
		closed = append(closed, time.Since(begin))
		_, err = api.AwaitRun(ctx, thread, run.RunID, "interrupted")
		require.NoError(s.t, err)
	}
	s.add(figure{name: "stop to model request closed p50", value: ms(percentile(closed, .5)), unit: "ms"})
	s.add(figure{name: "stop to model request closed p95", value: ms(percentile(closed, .95)), unit: "ms", bar: 200})
	s.add(figure{name: "stop to command ended p95", value: ms(percentile(stopCommands(ctx, s, p, m), .95)), unit: "ms", bar: 200})
}

func stopCommands(ctx context.Context, s *sheet, p *testkit.Process, m *testkit.Model) []time.Duration {
	api := p.API()
	n := 0
	m.On(testkit.LastUser("run it")).Respond(func(*testkit.Request) testkit.Reply {
		return testkit.ToolCalls(testkit.Call{Name: "bash", Args: map[string]any{"description": "wait", "command": fmt.Sprintf("sleep 7%03d", n)}})
	})
	var ended []time.Duration
	for range 10 {
		n++
		command := fmt.Sprintf("sleep\x007%03d\x00", n)
		thread := newThread(ctx, s.t, api)
		run, err := api.CreateRun(ctx, thread, testkit.Say("run it"))
		require.NoError(s.t, err)
		for !lives(command) {
			require.NoError(s.t, ctx.Err())
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		require.NoError(s.t, api.CancelRun(ctx, thread, run.RunID, testkit.CancelOptions{}))
		for lives(command) {
			require.NoError(s.t, ctx.Err())
			time.Sleep(time.Millisecond)
		}
		ended = append(ended, time.Since(begin))
	}
	return ended
}

// lives looks for a process with this command line; zombies have none.
func lives(command string) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name()[0] > '9' {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && string(data) == command {
			return true
		}
	}
	return false
}

// resume kills the process under load and measures from the kill to the next
// event of each thread.
func resume(ctx context.Context, s *sheet, m *testkit.Model) {
	const threads, rounds = 20, 5
	p := testkit.StartDev(s.t, testkit.DevOptions{Config: configFor(m)})
	api := p.API()
	ids := make([]string, threads)
	for i := range ids {
		ids[i] = newThread(ctx, s.t, api)
		_, err := api.CreateRun(ctx, ids[i], question(600))
		require.NoError(s.t, err)
	}
	db := openStore(s.t, p.DataDir)
	var all []time.Duration
	for range rounds {
		time.Sleep(1500 * time.Millisecond) // under load is what is measured
		p.Kill9()
		killed := time.Now()
		p = p.Restart()
		for _, id := range ids {
			all = append(all, firstEventAfter(ctx, s, db, id, killed))
		}
	}
	s.add(figure{name: "kill -9 under load to going on, p50", value: percentile(all, .5).Seconds(), unit: "s"})
	s.add(figure{name: "kill -9 under load to going on, p95", value: percentile(all, .95).Seconds(), unit: "s", bar: 3})
	var doubled int
	require.NoError(s.t, db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM messages WHERE rev = 0 GROUP BY thread_id, pos HAVING count(*) > 1)").Scan(&doubled))
	s.add(figure{name: "doubled messages after the kills", value: float64(doubled), unit: ""})
}
