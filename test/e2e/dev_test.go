package e2e

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"deerflow/internal/testkit"
)

const tick = 5 * time.Millisecond

func TestStopsInTime(t *testing.T) {
	t.Parallel()
	inBothShapes(t, stopsInTime)
}

func stopsInTime(t *testing.T, start func(string) *system) {
	t.Helper()
	m := testkit.NewModel(t)
	gate := testkit.NewGate()
	m.Enqueue(testkit.Text("never whole", testkit.WithChunks(3), testkit.At(2, testkit.Hold(gate))), testkit.Text("whole"))
	p := start(testkit.ConfigFor(m))
	ctx := patient(t)
	thread, err := p.API().CreateThread(ctx, "", nil)
	require.NoError(t, err)
	stream, err := p.API().StreamRun(ctx, thread.ThreadID, testkit.SayWatched("tell me"))
	require.NoError(t, err)
	defer stream.Close()
	<-gate.Reached()
	code, took := p.Stop()
	require.Equal(t, 0, code, p.Output())
	require.Less(t, took, 10*time.Second, "E19: SIGTERM drains and stops")
	gate.Release()
	p.Restart()
	again, err := stream.Reconnect(ctx)
	require.NoError(t, err)
	defer again.Close()
	_, err = again.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err)
	require.Equal(t, []string{"human: tell me", "ai: whole"}, shape(messages(t, p.API(), thread.ThreadID)))
}

func TestDevRefusesWhatItCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().String()
	_, number, err := net.SplitHostPort(port)
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("sandbox:\n  use: local\n\n  allow_host_bsh: true\n"), 0o600))
	open := filepath.Join(t.TempDir(), "open.yaml")
	require.NoError(t, os.WriteFile(open, []byte("auth:\n  enabled: false\n"), 0o600))
	p := testkit.StartDev(t, testkit.DevOptions{})

	for _, tc := range []struct {
		name string
		args []string
		dir  string
		want string
	}{
		{"data directory in use", nil, p.DataDir, "is in use"},
		{"API port taken", []string{"--listen", port}, "", "cannot listen on " + port},
		{"Temporal port taken", []string{"--temporal-port", number}, "", number},
		{"UI port taken", []string{"--temporal-ui-port", number}, "", number},
		{"not loopback", []string{"--listen", "0.0.0.0:0", "--config", open}, "", "loopback"},
		{"unreadable config", []string{"--config", bad}, "", "config.yaml:4"},
		{"no config there", []string{"--config", bad + ".none"}, "", "config.yaml.none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := tc.dir
			if dir == "" {
				dir = t.TempDir()
			}
			args := append([]string{"dev", "--data-dir", dir}, tc.args...)
			for _, flag := range []string{"--listen", "--temporal-port", "--temporal-ui-port"} {
				if !strings.Contains(strings.Join(tc.args, " "), flag+" ") {
					value := "0"
					if flag == "--listen" {
						value = "127.0.0.1:0"
					}
					args = append(args, flag, value)
				}
			}
			_, stderr, code := testkit.RunCLI(t, args, testkit.CLIOptions{})
			require.Equal(t, 2, code, stderr)
			lines := complaints(stderr)
			require.Len(t, lines, 1, "one clear line: %s", stderr)
			require.Contains(t, lines[0], tc.want)
		})
	}
}

// complaints are the lines that are no progress.
func complaints(stderr string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(stderr), "\n") {
		if !strings.HasPrefix(line, "deerflow: starting ") && !strings.HasPrefix(line, "deerflow: opening ") {
			out = append(out, line)
		}
	}
	return out
}

func TestDevRefusesADatabaseOfANewerVersion(t *testing.T) {
	t.Parallel()
	p := testkit.StartDev(t, testkit.DevOptions{})
	code, _ := p.Stop()
	require.Equal(t, 0, code)
	path := filepath.Join(p.DataDir, "deerflow.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	_, stderr, code := testkit.RunCLI(t, []string{
		"dev", "--data-dir", p.DataDir, "--listen", "127.0.0.1:0", "--temporal-port", "0", "--temporal-ui-port", "0",
	}, testkit.CLIOptions{})
	require.Equal(t, 2, code, stderr)
	require.Len(t, complaints(stderr), 1, stderr)
	require.Contains(t, stderr, "newer")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "nothing is damaged")
}
