package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestB(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	runWires(t, m, p, []wire{
		{
			name: "B04", replies: []Reply{ToolCalls(call("b4", "write_file", `{"description":"w","path":"/mnt/user-data/outputs/a.md","content":"unfinis`))}, status: "success", answer: "fine",
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				_, err := os.Stat(filepath.Join(userDir(p, id), "outputs", "a.md"))
				require.ErrorIs(t, err, os.ErrNotExist)
				require.Equal(t, "error", list[2].Status)
				require.Less(t, len(list[2].Text()), 1000)
			},
		},
		{
			name: "B04big", replies: []Reply{ToolCalls(call("b4", "write_file", `{"description":"w","path":"/mnt/user-data/outputs/a.md","content":"`+strings.Repeat("x", 50000)))}, status: "success", answer: "fine",
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				require.Less(t, len(list[2].Text()), 1000)
				require.Less(t, len(reqs[1].Body), 30000)
			},
		},
		{name: "B05", replies: []Reply{ToolCalls(call("b5", "", `{}`)), ToolCalls(call("b6", strings.Repeat("n", 80), `{}`), call("b7", "näme with space", `{}`))}, status: "success", answer: "fine"},
		{name: "B05both", replies: []Reply{ToolCalls(call("x", "", `{}`), ls("y", "/mnt/user-data"), call("z", "write_file", `{"bro`), call("w", "nope", nil))}, status: "success", answer: "fine"},
		{
			name: "B13", replies: []Reply{ToolCalls(writeFile("b13", "half.md", "cut")).With(WithFinish("content_filter"))},
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				_, err := os.Stat(filepath.Join(userDir(p, id), "outputs", "half.md"))
				require.ErrorIs(t, err, os.ErrNotExist)
				require.Contains(t, last(list).Text(), "content filter")
			},
		},
		{
			name: "B13b", replies: []Reply{ToolCalls(writeFile("b13", "half.md", "cut")).With(WithFinish("refusal"))},
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				_, err := os.Stat(filepath.Join(userDir(p, id), "outputs", "half.md"))
				require.ErrorIs(t, err, os.ErrNotExist)
				require.NotEmpty(t, last(list).Text())
			},
		},
		{
			name: "B13c", replies: []Reply{ToolCalls(writeFile("b13", "half.md", "cut")).With(WithFinish("SAFETY"))},
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				_, err := os.Stat(filepath.Join(userDir(p, id), "outputs", "half.md"))
				require.ErrorIs(t, err, os.ErrNotExist)
				require.NotEmpty(t, last(list).Text())
			},
		},
		{
			name: "B14", replies: []Reply{ToolCalls(writeFile("b14", "keep.md", strings.Repeat("0123", 4096))), ToolCalls(writeFile("b15", "keep.md", "short")).With(WithFinish("length"))}, answer: "fine",
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				data, err := os.ReadFile(filepath.Join(userDir(p, id), "outputs", "keep.md"))
				require.NoError(t, err)
				require.Equal(t, strings.Repeat("0123", 4096), string(data))
				require.Contains(t, list[4].Text(), "output limit")
			},
		},
		{
			name: "B14nocontent", replies: []Reply{ToolCalls(writeFile("b14", "keep.md", "0123")), ToolCalls(call("b16", "write_file", map[string]any{"description": "w", "path": "/mnt/user-data/outputs/keep.md"})), ToolCalls(call("b17", "write_file", map[string]any{"description": "w", "path": "/mnt/user-data/outputs/keep.md", "content": nil}))}, answer: "fine",
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				data, err := os.ReadFile(filepath.Join(userDir(p, id), "outputs", "keep.md"))
				require.NoError(t, err)
				require.Equal(t, "0123", string(data))
			},
		},
		{name: "B14text", replies: []Reply{Text("a long answer that is cut by the out").With(WithFinish("length"))}, answer: "a long answer"},
		{name: "Bclar2", replies: []Reply{ToolCalls(
			call("call_0", "ask_clarification", map[string]any{"question": "Which A?", "clarification_type": "missing_info"}),
			ls("call_1", "/mnt/user-data"))}, status: "success"},
	})
}

func TestB01StopInMidTool(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("start")).Always(ToolCalls(call("s1", "bash", map[string]any{"description": "w", "command": "touch started; sleep 302.1"}), ls("s2", "/mnt/user-data")))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	for _, action := range []string{"interrupt", "rollback"} {
		id := newThread(t, api)
		r, err := api.CreateRun(ctx, id, SayWatched("start"))
		require.NoError(t, err)
		_, err = m.AwaitMatch(ctx, 1, LastUser("start"))
		require.NoError(t, err)
		awaitFile(t, filepath.Join(userDir(p, id), "workspace", "started"))
		require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true, Action: action}))
		stopped := messages(t, api, id)
		if action == "rollback" {
			require.Empty(t, stopped)
		} else {
			require.Len(t, stopped, 4, "one result per open call: %q", shape(stopped))
			require.Equal(t, "error", stopped[2].Status)
			require.Equal(t, "s1", stopped[2].ToolCallID)
			require.Equal(t, "s2", stopped[3].ToolCallID)
		}
		r = run(t, api, id, "go on")
		require.Equal(t, "success", r.Status)
		t.Logf("%s: %q", action, shape(messages(t, api, id)))
		r = run(t, api, id, "go on")
		require.Equal(t, "success", r.Status)
	}
}

func TestB03LoopWarningAfterResults(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(r *Request) Reply {
		if r.Turn() < 4 && !AnyMessage("second")(r) {
			return ToolCalls(ls(fmt.Sprintf("a%d", r.Turn()), "/mnt/user-data"), ls(fmt.Sprintf("b%d", r.Turn()), "/mnt/user-data/uploads"))
		}
		return Text("fine")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "loop_detection:\n  warn_threshold: 2\n  hard_limit: 9")})
	api := p.API()
	id := newThread(t, api)
	r := run(t, api, id, "go")
	require.Equal(t, "success", r.Status)
	warned := m.RequestsTo(AnyMessage("LOOP DETECTED"))
	require.NotEmpty(t, warned)
	for _, x := range messages(t, api, id) {
		require.NotContains(t, x.Text(), "LOOP DETECTED")
	}
	require.Equal(t, "success", run(t, api, id, "second").Status)
}

func TestB12LateCallAfterCancel(t *testing.T) {
	m := NewModel(t)
	gate := NewGate()
	m.Enqueue(Text("thinking about it", WithChunks(4), At(3, Hold(gate)), WithCalls(writeFile("late", "late.md", "x"))), Text("fine"))
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	id := newThread(t, api)
	r, err := api.CreateRun(ctx, id, SayWatched("go"))
	require.NoError(t, err)
	<-gate.Reached()
	require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{}))
	gate.Release()
	r, err = api.AwaitRun(ctx, id, r.RunID)
	require.NoError(t, err)
	require.Equal(t, "interrupted", r.Status)
	require.Equal(t, "success", run(t, api, id, "on").Status)
	require.Len(t, m.Requests(), 2, "the late call led to no further request")
	_, err = os.Stat(filepath.Join(userDir(p, id), "outputs", "late.md"))
	require.ErrorIs(t, err, os.ErrNotExist)
	// The call may have been on its way when the stop came. Then the next request
	// has it as one that was not run: by the result in the transcript, or, when the
	// answer was whole in the very moment of the stop, by the repair of the request.
	for _, x := range messages(t, api, id) {
		for _, c := range x.ToolCalls {
			told, ok := m.Requests()[1].ToolResult(c.ID)
			require.True(t, ok, "the model is told of call %s", c.ID)
			require.Regexp(t, "stopped by the user|interrupted", told)
		}
	}
}

// The provider numbers its calls anew in each answer: two questions have the
// same call id.
func TestQuestionsWithTheSameCallID(t *testing.T) {
	m := NewModel(t)
	ask := func(q string) Reply {
		return ToolCalls(call("call_0", "ask_clarification", map[string]any{"question": q, "clarification_type": "missing_info"}))
	}
	m.Enqueue(ask("First question?"), ask("Second question?"), Text("done"), ask("Third question?"), Text("done too"))
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	ctx := patient(t)
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "go").Status)
	for i, q := range []string{"First question?", "Second question?", "", "Third question?", ""} {
		th, err := api.Thread(ctx, id)
		require.NoError(t, err)
		list := messages(t, api, id)
		t.Logf("%d: %s %s %q", i, th.Status, mustJSON(th.Interrupts), shape(list))
		if q == "" {
			require.Equal(t, "idle", th.Status)
			if i == 2 {
				require.Equal(t, "success", run(t, api, id, "a new task").Status)
			}
			continue
		}
		require.Equal(t, "interrupted", th.Status)
		require.Contains(t, mustJSON(th.Interrupts), q)
		require.Contains(t, last(list).Text(), q)
		req := Resume("answer to " + q)
		r, err := api.CreateRun(ctx, id, req)
		require.NoError(t, err)
		r, err = api.AwaitRun(ctx, id, r.RunID)
		require.NoError(t, err)
		require.Equal(t, "success", r.Status)
	}
}
