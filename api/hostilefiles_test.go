package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// unwilling are files that cannot be removed for a while.
type unwilling struct {
	Files
	err error
}

func (u *unwilling) RemoveThread(ctx context.Context, o FileOwner) error {
	if u.err != nil {
		return u.err
	}
	return u.Files.RemoveThread(ctx, o)
}

// A thread whose files could not be removed is still there to be deleted again.
func TestDeleteThreadAgain(t *testing.T) {
	t.Parallel()
	files := &unwilling{err: errors.New("no")}
	e := newEnv(t, func(o *Options) { files.Files, o.Files = o.Files, files })
	e.thread(t, "t")
	dir := filepath.Join(e.dataDir, "users", "default", "threads", "t")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "user-data", "outputs"), 0o700))
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 500})
	e.check(t, scenario{method: "GET", path: "/threads/t", status: 200})
	files.err = nil
	e.check(t, scenario{method: "DELETE", path: "/threads/t", status: 204})
	require.NoDirExists(t, dir)
	e.check(t, scenario{method: "GET", path: "/threads/t", status: 404})
}

// Directories without the right to write go with their thread. Root needs no right:
// for another user go test -c and setpriv help.
func TestRemoveThreadReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED, nothing was tested: root may write everywhere; run this as another user")
	}
	users := t.TempDir()
	dir := filepath.Join(users, "u/threads/t/user-data/workspace/go/pkg/mod/x@v1")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.go"), nil, 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	require.NoError(t, NewFiles(users).RemoveThread(t.Context(), FileOwner{User: "u", Thread: "t"}))
	require.NoDirExists(t, filepath.Join(users, "u/threads/t"))
}

// A socket in the place of a file that was presented is no file, and hides no other.
func TestArtifactIsSocket(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	socket, file := "/mnt/user-data/outputs/p.md", "/mnt/user-data/outputs/q.md"
	p := e.play(t, "t")
	run := e.say(t, "t", "hi")
	p.start(run)
	p.commit(update(thread.StateUpdate{Artifacts: []string{socket, file}}))
	outputs := filepath.Join(e.dataDir, "users", "default", "threads", "t", "user-data", "outputs")
	require.NoError(t, os.MkdirAll(outputs, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outputs, "q.md"), []byte("text"), 0o644))
	bind(t, outputs, "p.md")
	e.check(t, scenario{method: "GET", path: "/threads/t/artifacts", status: 200, want: []string{`"count":2`, `"exists":false`, `"exists":true`}})
	e.check(t, scenario{method: "GET", path: "/threads/t/artifacts" + socket, status: 400, want: []string{"not a file"}})
}

// bind makes a socket. Its path may be longer than the address of one.
func bind(t *testing.T, dir, name string) {
	t.Helper()
	short, err := os.MkdirTemp("", "s") //nolint:usetesting // the directories of tests have long names
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(short)) })
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(short, name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	require.NoError(t, os.Rename(filepath.Join(short, name), filepath.Join(dir, name)))
}

// A copy of a thread with a tree that is too deep is refused, with the reason.
func TestCopyThreadTooDeep(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.thread(t, "t")
	threads := filepath.Join(e.dataDir, "users", "default", "threads")
	require.NoError(t, os.MkdirAll(filepath.Join(threads, "t", "user-data", "workspace", strings.Repeat("d/", 300)), 0o755))
	e.check(t, scenario{method: "POST", path: "/threads/t/copy", status: 409, want: []string{"more than 256 levels deep"}})
	left, err := os.ReadDir(threads)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left of the copy")
}
