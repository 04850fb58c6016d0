package store

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// No statement walks through a table: what a step costs does not depend on how
// much there is.
func TestNoScans(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	in := fullCommit(f)
	f.commit(in)
	f.start(in.Thread, "r1", 0)
	f.submit(in.Thread, "r2", "more")
	require.NoError(t, f.WithdrawRun(f.ctx, in.Thread, "r2"))
	_, err := f.View(f.ctx, in.Thread, ViewOptions{})
	require.NoError(t, err)
	_, err = f.LoadHead(f.ctx, in.Thread, nil)
	require.NoError(t, err)
	_, err = f.Checkpoints(f.ctx, in.Thread, CheckpointQuery{Before: in.CheckpointID})
	require.NoError(t, err)
	_, err = f.ListRuns(f.ctx, in.Thread, RunQuery{Status: thread.RunPending})
	require.NoError(t, err)
	_, err = f.PendingRuns(f.ctx)
	require.NoError(t, err)
	_, err = f.ActiveThreads(f.ctx)
	require.NoError(t, err)
	_, err = f.HeldThreads(f.ctx, 1)
	require.NoError(t, err)
	_, err = f.GetPlan(f.ctx, "h1")
	require.NoError(t, err)
	_ = f.log(in.Thread)
	_, err = f.FirstSeq(f.ctx, in.Thread)
	require.NoError(t, err)
	_, err = f.PruneDeltas(f.ctx, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.NoError(t, f.DeleteThread(f.ctx, in.Thread))

	fine := regexp.MustCompile(`^SCAN (CONSTANT ROW|(threads|runs) USING (COVERING )?INDEX (threads_active|runs_live))$`)
	queries := f.statements()
	require.Greater(t, len(queries), 40)
	for _, query := range queries {
		for _, line := range f.explain(query) {
			if strings.HasPrefix(line, "SCAN") {
				require.Regexp(t, fine, line, query)
			}
		}
	}
}

// statements are all that the connections have prepared.
func (f *fixture) statements() []string {
	b := f.db.(*sqliteBackend)
	seen := map[string]bool{}
	for query := range b.writer.conn.stmts {
		seen[query] = true
	}
	for range b.slots {
		p := <-b.readers
		if p != nil {
			for query := range p.stmts {
				seen[query] = true
			}
		}
		b.readers <- p
	}
	var queries []string
	for query := range seen {
		if regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)`).MatchString(query) {
			queries = append(queries, query)
		}
	}
	return queries
}

func (f *fixture) explain(query string) []string {
	f.t.Helper()
	var lines []string
	require.NoError(f.t, f.read(f.ctx, func(ctx context.Context, q querier) error {
		rows, err := q.once(f.ctx, "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			return err
		}
		lines, err = collect(rows, func(r scanner) (line string, err error) {
			var id, parent, unused int
			err = r.Scan(&id, &parent, &unused, &line)
			return line, err
		})
		return err
	}))
	return lines
}
