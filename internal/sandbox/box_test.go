package sandbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(crashVariable); args != "" {
		fmt.Fprintln(os.Stderr, crashChild(args))
		os.Exit(1)
	}
	if root := os.Getenv(workerVariable); root != "" {
		fmt.Fprintln(os.Stderr, workerChild(root))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// workerVariable makes this test binary a process that runs a command on a root
// and tells the process ids that the command wrote.
const workerVariable = "SANDBOX_TEST_WORKER"

// workerLine is a command for that process to run walled in, instead of its own.
const workerLine = "SANDBOX_TEST_LINE"

func workerChild(root string) error {
	o := LocalOptions{Root: root, AllowHostBash: true}
	line := os.Getenv(workerLine)
	if line != "" {
		var err error
		if o.Runner, err = NewBubblewrap(context.Background(), BubblewrapOptions{}); err != nil {
			return err
		}
	}
	p, err := NewLocal(o)
	if err != nil {
		return err
	}
	s, err := p.Acquire(context.Background(), "u1", "t1")
	if err != nil {
		return err
	}
	if line != "" {
		_, err = s.Exec(context.Background(), Command{Line: line})
		return err
	}
	go func() {
		for {
			data, err := os.ReadFile(s.(*local).host(Workspace + "/pids"))
			if err == nil {
				fmt.Println(strings.TrimSpace(string(data)))
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err = s.Exec(context.Background(), Command{Line: "sleep 600 & echo $$ $! > p && mv p pids; wait"})
	return err
}

// newLocal makes a provider on a directory of the test, with commands allowed.
func newLocal(t *testing.T, change func(*LocalOptions)) *Local {
	t.Helper()
	o := LocalOptions{
		Root: filepath.Join(t.TempDir(), "users"), AllowHostBash: true,
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	p, err := NewLocal(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// newBox makes a sandbox of its own.
func newBox(t *testing.T, change func(*LocalOptions)) *local {
	t.Helper()
	return acquire(t, newLocal(t, change), "u1", "t1")
}

func acquire(t *testing.T, p *Local, user, threadID string) *local {
	t.Helper()
	s, err := p.Acquire(t.Context(), user, threadID)
	require.NoError(t, err)
	return s.(*local)
}

// host is the path on the host of a virtual path under /mnt/user-data.
func (l *local) host(virtual string) string {
	return filepath.Join(l.userData.host, strings.TrimPrefix(virtual, UserData))
}

func put(t *testing.T, l *local, path, content string) WriteResult {
	t.Helper()
	r, err := l.WriteFile(t.Context(), path, strings.NewReader(content), WriteOptions{})
	require.NoError(t, err)
	return r
}

func get(t *testing.T, l *local, path string) string {
	t.Helper()
	f, _, err := l.Open(context.WithoutCancel(t.Context()), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(data)
}

func mustSymlink(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.Symlink(target, name))
}

// noHost fails when a text shows where the sandbox is on the host.
func noHost(t *testing.T, l *local, text string) {
	t.Helper()
	require.NotContains(t, text, l.provider.root)
	require.NotContains(t, text, filepath.Dir(l.provider.root))
}
