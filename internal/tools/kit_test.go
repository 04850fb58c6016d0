package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a set of all tools and a sandbox of its own.
type kit struct {
	t    *testing.T
	set  *Set
	env  Env
	root string
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{t: t, root: filepath.Join(t.TempDir(), "users")}
	p, err := sandbox.NewLocal(sandbox.LocalOptions{Root: k.root, AllowHostBash: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	box, err := p.Acquire(t.Context(), "u1", "t1")
	require.NoError(t, err)
	k.env = Env{User: "u1", Thread: "t1", Run: "r1", CallID: "call-1", Sandbox: box}
	set, warnings, err := New(Options{Entries: everything(), HostBash: true, Run: everyRun()})
	require.NoError(t, err)
	require.Empty(t, warnings)
	k.set = set
	return k
}

func everything() []Entry {
	var all []Entry
	for _, name := range []string{"bash", "ls", "read_file", "write_file", "str_replace", "glob", "grep"} {
		all = append(all, Entry{Name: name, Group: "x", Use: "sandbox:" + name})
	}
	return all
}

// call runs a tool with arguments as a value or as JSON text.
func (k *kit) call(name string, args any) Result {
	k.t.Helper()
	r, err := k.try(k.t.Context(), name, args)
	require.NoError(k.t, err)
	return r
}

func (k *kit) try(ctx context.Context, name string, args any) (Result, error) {
	k.t.Helper()
	tool, ok := k.set.Get(name)
	require.True(k.t, ok, name)
	raw, isText := args.(string)
	if !isText {
		data, err := json.Marshal(args)
		require.NoError(k.t, err)
		raw = string(data)
	}
	r, err := Run(ctx, tool, Call{Args: json.RawMessage(raw), Env: k.env})
	require.NotContains(k.t, r.Text, k.root, "the path of the host")
	return r, err
}

// ok runs a tool that must not fail and gives its text.
func (k *kit) ok(name string, args any) string {
	k.t.Helper()
	r := k.call(name, args)
	require.False(k.t, r.Error, r.Text)
	return r.Text
}

// fails runs a tool that must fail with a text that has all the parts.
func (k *kit) fails(name string, args any, parts ...string) Result {
	k.t.Helper()
	r := k.call(name, args)
	require.True(k.t, r.Error, r.Text)
	require.True(k.t, strings.HasPrefix(r.Text, "Error: "), r.Text)
	for _, part := range parts {
		require.Contains(k.t, r.Text, part)
	}
	return r
}

func (k *kit) write(path, content string) {
	k.t.Helper()
	_, err := k.env.Sandbox.WriteFile(k.t.Context(), path, strings.NewReader(content), sandbox.WriteOptions{})
	require.NoError(k.t, err)
}

func (k *kit) read(path string) string {
	k.t.Helper()
	r, err := k.env.Sandbox.ReadFile(k.t.Context(), path, sandbox.ReadOptions{})
	require.NoError(k.t, err)
	return r.Text
}

type a = map[string]any
