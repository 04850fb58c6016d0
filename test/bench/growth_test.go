package bench

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
	"deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// growth measures what a turn adds to history and database, early and late in a
// long run.
func growth(ctx context.Context, s *sheet, p *testkit.Process) {
	api, db := p.API(), openStore(s.t, p.DataDir)
	id := newThread(ctx, s.t, api)
	const turns = 205
	ask(ctx, s, api, id, turns)
	history := historyPerTurn(ctx, s, p, id)
	for _, at := range []int{10, 50, 200} {
		s.add(figure{name: "history bytes of turn " + strconv.Itoa(at), value: history[at], unit: "B"})
	}
	s.add(figure{name: "history bytes, turn 200 over turn 10", value: history[200] / history[10], unit: "", bar: 1.3})
	for _, at := range []int{10, 50, 200} {
		s.add(figure{name: "database bytes of turn " + strconv.Itoa(at), value: rowsOfTurn(ctx, s, db, id, at), unit: "B"})
	}
	s.add(figure{name: "database bytes, turn 200 over turn 10", value: rowsOfTurn(ctx, s, db, id, 200) / rowsOfTurn(ctx, s, db, id, 10), unit: "", bar: 1.3})
}

// historyPerTurn follows the workflow over its continue-as-new runs and sums the
// events between one model call and the next. The averages of ten turns are
// given, since a turn in which the workflow continues is larger.
func historyPerTurn(ctx context.Context, s *sheet, p *testkit.Process, id string) map[int]float64 {
	c, err := client.Dial(client.Options{HostPort: p.Temporal})
	require.NoError(s.t, err)
	defer c.Close()
	d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(id), "")
	require.NoError(s.t, err)
	run := d.GetWorkflowExecutionInfo().GetFirstRunId()
	var sizes []float64
	size := 0.0
	for run != "" {
		next := ""
		events := c.GetWorkflowHistory(ctx, thread.WorkflowID(id), run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(s.t, err)
			if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityType().GetName() == step.CallModel {
				sizes, size = append(sizes, size), 0
			}
			size += float64(e.Size())
			if a := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); a != nil {
				next = a.GetNewExecutionRunId()
			}
		}
		run = next
	}
	out := map[int]float64{}
	for _, at := range []int{10, 50, 200} {
		out[at] = median(sizes[at-5 : at+5])
	}
	return out
}

func median(list []float64) float64 {
	sorted := append([]float64(nil), list...)
	for i := range sorted {
		for j := i; j > 0 && sorted[j] < sorted[j-1]; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	return sorted[len(sorted)/2]
}

// rowsOfTurn sums the bytes of all rows that a turn's steps wrote.
func rowsOfTurn(ctx context.Context, s *sheet, db *sql.DB, id string, turn int) float64 {
	first, last := 3*turn-2, 3*turn // model, tool, commit
	var total float64
	for _, q := range []string{
		"SELECT coalesce(sum(length(body)+length(digest)+length(id)+length(run_id)+60), 0) FROM messages WHERE thread_id = ? AND step BETWEEN ? AND ?",
		"SELECT coalesce(sum(length(data)+length(type)+length(run_id)+60), 0) FROM events WHERE thread_id = ? AND step BETWEEN ? AND ?",
		"SELECT coalesce(sum(length(data)+length(segments)+length(state)+length(interrupts)+length(id)+length(parent)+80), 0) FROM checkpoints WHERE thread_id = ? AND step BETWEEN ? AND ?",
	} {
		var n float64
		require.NoError(s.t, db.QueryRowContext(ctx, q, id, first, last).Scan(&n))
		total += n
	}
	return total
}

// syncsPerTurn counts the process's fsync and fdatasync calls over a run with
// strace, where it is installed.
func syncsPerTurn(ctx context.Context, s *sheet, p *testkit.Process) {
	if _, err := exec.LookPath("strace"); err != nil {
		s.add(figure{name: "fsyncs per turn", unit: "", note: "not measured: strace is not installed"})
		return
	}
	out, err := os.CreateTemp(s.t.TempDir(), "strace")
	require.NoError(s.t, err)
	trace := exec.CommandContext(ctx, "strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", out.Name(), "-p", strconv.Itoa(p.Pid()))
	require.NoError(s.t, trace.Start())
	time.Sleep(500 * time.Millisecond) // strace says nothing when it has attached
	api := p.API()
	const turns = 40
	ask(ctx, s, api, newThread(ctx, s.t, api), turns)
	require.NoError(s.t, trace.Process.Signal(syscall.SIGINT))
	_ = trace.Wait()
	data, err := os.ReadFile(out.Name())
	require.NoError(s.t, err)
	total := 0
	for _, line := range strings.Split(string(data), "\n") {
		if f := regexp.MustCompile(`\s+`).Split(strings.TrimSpace(line), -1); len(f) >= 5 && (f[len(f)-1] == "fsync" || f[len(f)-1] == "fdatasync") {
			n, _ := strconv.Atoi(f[3])
			total += n
		}
	}
	s.add(figure{name: "fsyncs per turn", value: float64(total) / (turns + 1), unit: "", note: "one model call and one tool"})
}

func firstEventAfter(ctx context.Context, s *sheet, db *sql.DB, id string, killed time.Time) time.Duration {
	for {
		var at sql.NullInt64
		require.NoError(s.t, db.QueryRowContext(ctx, "SELECT min(at) FROM events WHERE thread_id = ? AND at > ?", id, killed.UnixMicro()).Scan(&at))
		if at.Valid {
			return time.UnixMicro(at.Int64).Sub(killed)
		}
		require.NoError(s.t, ctx.Err())
		time.Sleep(5 * time.Millisecond)
	}
}
