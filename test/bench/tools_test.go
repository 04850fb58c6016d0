package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
	"deerflow/internal/testkit"
)

// startOfCommands measures what the wall around a command costs, beside a command
// without one.
func startOfCommands(ctx context.Context, s *sheet) {
	time50 := func(runner sandbox.Runner) float64 {
		box, _ := openBox(ctx, s, sandbox.LocalOptions{AllowHostBash: true, Runner: runner})
		return ms(typical(100, func() {
			r, err := box.Exec(ctx, sandbox.Command{Line: "true"})
			require.NoError(s.t, err)
			require.Zero(s.t, r.ExitCode)
		}))
	}
	plain := time50(nil)
	s.add(figure{name: "start of a command p50, local", value: plain, unit: "ms"})
	wall, err := sandbox.NewBubblewrap(ctx, sandbox.BubblewrapOptions{})
	if err != nil {
		s.add(figure{name: "start of a command p50, bubblewrap", missing: err.Error()})
		return
	}
	s.add(figure{name: "start of a command p50, bubblewrap", value: time50(wall), unit: "ms", note: "bash included"})
}

// grepFiles measures a search over 1,000 files beside ripgrep.
func grepFiles(ctx context.Context, s *sheet) {
	const files, lines, hits = 1000, 100, 10
	box, dir := openBox(ctx, s, sandbox.LocalOptions{})
	for i := range files {
		var text strings.Builder
		for n := range lines {
			fmt.Fprintf(&text, "line %d of file %d says nothing of interest\n", n, i)
		}
		if i%(files/hits) == 0 {
			text.WriteString("here is the Needle_42\n")
		}
		name := filepath.Join(dir, fmt.Sprintf("d%02d/f%d.txt", i%20, i))
		require.NoError(s.t, os.MkdirAll(filepath.Dir(name), 0o750))
		require.NoError(s.t, os.WriteFile(name, []byte(text.String()), 0o600))
	}
	own := typical(20, func() {
		r, err := box.Grep(ctx, ".", sandbox.GrepOptions{Pattern: `needle_\d+`})
		require.NoError(s.t, err)
		require.Len(s.t, r.Matches, hits)
	})
	s.add(figure{name: "grep over 1,000 files p50", value: ms(own), unit: "ms"})
	rg, err := exec.LookPath("rg")
	if err != nil {
		s.add(figure{name: "rg over the same files", missing: "there is no rg on this machine"})
		return
	}
	peer := typical(20, func() {
		out, err := exec.CommandContext(ctx, rg, "--ignore-case", "--line-number", `needle_\d+`, dir).Output()
		require.NoError(s.t, err)
		require.Equal(s.t, hits, strings.Count(string(out), "\n"))
	})
	s.add(figure{name: "rg over the same files p50", value: ms(peer), unit: "ms", note: "start of its process included"})
}

// toolOverhead measures a call of read_file in the product, and takes away what the
// reading itself takes.
func toolOverhead(ctx context.Context, s *sheet, p *testkit.Process, m *testkit.Model) {
	const calls = 60
	m.On(testkit.LastUser("reads the file")).Respond(func(r *testkit.Request) testkit.Reply {
		if r.Turn() >= calls {
			return testkit.Text("That was all of it.")
		}
		return testkit.ToolCalls(testkit.Call{ID: fmt.Sprintf("call_%d", r.Turn()), Name: "read_file", Args: map[string]any{
			"description": "read", "path": "/mnt/user-data/workspace/a.txt",
		}})
	})
	api, db := p.API(), openStore(s.t, p.DataDir)
	id := newThread(ctx, s.t, api)
	file := filepath.Join(p.DataDir, "users/default/threads", id, "user-data/workspace/a.txt")
	text := []byte(strings.Repeat("a line of the file\n", 50))
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(s.t, os.WriteFile(file, text, 0o600))
	_, err := api.WaitRun(ctx, id, testkit.Say("who reads the file?"))
	require.NoError(s.t, err)
	var tools []time.Duration
	for i, step := range stepTimes(ctx, s.t, db, id) {
		if i%2 == 1 { // question, model, tool, model, tool, ...
			tools = append(tools, step)
		}
	}
	box, dir := openBox(ctx, s, sandbox.LocalOptions{})
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "a.txt"), text, 0o600))
	work := typical(200, func() {
		_, err := box.ReadFile(ctx, "a.txt", sandbox.ReadOptions{})
		require.NoError(s.t, err)
	})
	s.add(figure{
		name: "overhead of a tool call p50", value: ms(percentile(tools, .5) - work), unit: "ms", bar: 12,
		note: fmt.Sprintf("one durable step; read_file itself takes %.2f ms", ms(work)),
	})
}

// typical runs something n times.
func typical(n int, run func()) time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		begin := time.Now()
		run()
		all[i] = time.Since(begin)
	}
	return percentile(all, .5)
}

// openBox makes a sandbox for the time of the test, and tells where its workspace is
// on this host.
func openBox(ctx context.Context, s *sheet, o sandbox.LocalOptions) (sandbox.Sandbox, string) {
	s.t.Helper()
	o.Root = s.t.TempDir()
	boxes, err := sandbox.NewLocal(o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, boxes.Close()) })
	box, err := boxes.Acquire(ctx, "bench", "t1")
	require.NoError(s.t, err)
	return box, filepath.Join(o.Root, "bench/threads/t1/user-data/workspace")
}
