package bench

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"deerflow/internal/testkit"
)

// configFor has loop detection off: a benchmark asks for the same again and
// again.
func configFor(m *testkit.Model) string {
	return fmt.Sprintf(`models:
  - {name: kit, use: openai, model: kit-model, api_key: k, base_url: "%s"}
sandbox: {use: local, allow_host_bash: true}
loop_detection: {enabled: false}
thread: {max_turns: 1000}
llm_call: {retry_base_delay_ms: 50, retry_cap_delay_ms: 200}
log_level: error
`, m.URL())
}

// looksAround answers a question marked "turns=N" with N turns of one small
// tool each, then a text.
func looksAround(r *testkit.Request) testkit.Reply {
	marker := "turns="
	text := r.LastUser()
	at := strings.Index(text, marker)
	n := 1
	if at >= 0 {
		n, _ = strconv.Atoi(strings.Fields(text[at+len(marker):])[0])
	}
	if r.Turn() >= n {
		return testkit.Text("That is all there is to see here, and it is not much.", testkit.WithUsage(100, 12))
	}
	return testkit.Text("I look around once more, to be sure that nothing was missed.", testkit.WithUsage(100, 20), testkit.WithCalls(
		testkit.Call{ID: fmt.Sprintf("call_%d", r.Turn()), Name: "glob", Args: map[string]any{
			"description": "look around", "path": "/mnt/user-data/workspace", "pattern": fmt.Sprintf("*.%03d", r.Turn()),
		}}))
}

func question(turns int) testkit.RunRequest {
	return testkit.Say(fmt.Sprintf("turns=%d please", turns))
}

func newThread(ctx context.Context, t testing.TB, api *testkit.API) string {
	t.Helper()
	thread, err := api.CreateThread(ctx, "", nil)
	require.NoError(t, err)
	return thread.ThreadID
}

func openStore(t testing.TB, dataDir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dataDir, "deerflow.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// stepTimes are the times between the messages that the steps of a thread made.
func stepTimes(ctx context.Context, t testing.TB, db *sql.DB, threadID string) []time.Duration {
	t.Helper()
	rows, err := db.QueryContext(ctx, "SELECT at FROM events WHERE thread_id = ? AND type = 'message' ORDER BY seq", threadID)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	var out []time.Duration
	var last int64
	for rows.Next() {
		var at int64
		require.NoError(t, rows.Scan(&at))
		if last > 0 {
			out = append(out, time.Duration(at-last)*time.Microsecond)
		}
		last = at
	}
	require.NoError(t, rows.Err())
	return out
}

func residentMB(t testing.TB, pid int) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(data))
	pages, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
