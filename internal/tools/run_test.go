package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
)

// fake is a tool that does what a test says.
type fake func() (Result, error)

func (fake) Spec() agent.ToolSpec { return agent.ToolSpec{Name: "fake"} }

func (f fake) Call(context.Context, Call) (Result, error) { return f() }

// B10: a panic is a short error result with no stack; the run goes on.
func TestB10PanicIsAResult(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	var list []int
	for name, c := range map[string]struct {
		panics func() (Result, error)
		want   string
	}{
		"text":    {func() (Result, error) { panic("boom\nsecond line") }, "failed with panic: boom."},
		"error":   {func() (Result, error) { panic(errors.New("bad")) }, "failed with errors.errorString: bad."},
		"runtime": {func() (Result, error) { return Result{}, fmt.Errorf("%d", list[3]) }, "index out of range"},
		"nil":     {func() (Result, error) { panic(nil) }, "panic called with nil"},
		"long":    {func() (Result, error) { panic(strings.Repeat("x", 9000)) }, "xxx..."},
		"path":    {func() (Result, error) { panic("in " + k.root + "/u1/threads/t1/user-data/workspace/f") }, "in /mnt/user-data/workspace/f."},
	} {
		r, err := Run(t.Context(), fake(c.panics), Call{Env: k.env})
		require.NoError(t, err, name)
		require.True(t, r.Error, name)
		require.True(t, strings.HasPrefix(r.Text, "Error: Tool 'fake' failed with "), r.Text)
		require.Contains(t, r.Text, c.want, name)
		require.Less(t, len(r.Text), 700, name)
		require.NotContains(t, r.Text, "goroutine")
		require.NotContains(t, r.Text, ".go:")
		require.Equal(t, SourceException, r.Kwargs[KeyMeta].(Meta).Source)
	}
}

// M01: whatever a tool says, what leaves is valid, not empty and bounded.
func TestRunBoundsResults(t *testing.T) {
	t.Parallel()
	run := func(r Result) Result {
		got, err := Run(t.Context(), fake(func() (Result, error) { return r, nil }), Call{})
		require.NoError(t, err)
		return got
	}
	got := run(Result{Text: strings.Repeat("字", 1<<20)})
	require.LessOrEqual(t, len(got.Text), maxResult)
	require.True(t, utf8.ValidString(got.Text))
	require.Contains(t, got.Text, "truncated")
	data, err := json.Marshal(run(Result{Text: strings.Repeat("\x01", 4<<20)}).Text)
	require.NoError(t, err)
	require.Less(t, len(data), 2<<20)
	require.Equal(t, "a\uFFFDb\uFFFD", run(Result{Text: "a\x00b\xff"}).Text)
	require.Equal(t, "(no output)", run(Result{}).Text)
	require.Equal(t, "(no output)", run(Result{Text: " \n", Error: true}).Text)
	big := run(Result{Text: "x", Artifact: json.RawMessage(`"` + strings.Repeat("x", maxResult) + `"`)})
	require.True(t, big.Error)
	require.Nil(t, big.Artifact)
	require.Equal(t, "kept", run(Result{Kwargs: map[string]any{KeyMeta: "kept"}}).Kwargs[KeyMeta])
}

// Only lost infrastructure is an error of the call.
func TestB10ErrorsAreResults(t *testing.T) {
	t.Parallel()
	_, err := Run(cancelled(t), fake(func() (Result, error) { panic("not reached") }), Call{})
	require.ErrorIs(t, err, context.Canceled)
	k := newKit(t)
	k.write("f", "x")
	away := k.env
	away.Sandbox = awaySandbox{k.env.Sandbox}
	for _, tool := range k.set.Tools() {
		spec := tool.Spec()
		args := json.RawMessage(`{"path":"f","pattern":"x","content":"x","old_str":"x","new_str":"y","command":"true","question":"q","filepaths":["f"],"todos":[],"image_path":"f.png"}`)
		r, err := Run(t.Context(), tool, Call{Args: args, Env: away})
		if slices.Contains([]string{"ask_clarification", "write_todos", ListUploadedFiles}, spec.Name) { // they need none
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, sandbox.ErrUnavailable, spec.Name)
		require.False(t, r.Error, spec.Name)

		r, err = Run(t.Context(), tool, Call{Args: args})
		require.NoError(t, err)
		require.True(t, r.Error, spec.Name)
		require.Contains(t, r.Text, "sandbox")
	}
}

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
