package change

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
	product "deerflow/worker"
)

// Each shape, played on the real product with workflows kept in memory, replays
// from its start.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	sticky := 0
	playAll(t, "worker: {sticky_cache: 200}", func(t *testing.T, s *shape, list []execution) {
		t.Helper()
		for n, e := range list {
			replayer := worker.NewWorkflowReplayer()
			product.Register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistory(quiet(), e.history), "shape %s, workflow run %d", s.name, n+1)
			tasks, _ := stickyTasks(e.history)
			sticky += tasks
		}
		record(t, s.name, list)
	})
	require.NotZero(t, sticky, "workflows are kept in memory")
}

// Each shape with nothing kept in memory: every workflow task replays all of the
// history before it, so that code which does not replay fails here, and at once.
func TestNothingKeptInMemory(t *testing.T) {
	t.Parallel()
	playAll(t, "worker: {sticky_cache: 0}", func(t *testing.T, s *shape, list []execution) {
		t.Helper()
		for n, e := range list {
			sticky, all := stickyTasks(e.history)
			require.NotZero(t, all)
			require.Zero(t, sticky, "shape %s, workflow run %d: a worker kept the workflow in memory", s.name, n+1)
		}
	})
}

// playAll plays all shapes, one product for those that can share it, and checks
// what holds for every history. check is called for one shape at a time.
func playAll(t *testing.T, config string, check func(t *testing.T, s *shape, list []execution)) {
	t.Helper()
	groups := map[string][]*shape{}
	var order []string
	for _, s := range shapes() {
		key := s.config
		if s.alone {
			key = "alone: " + s.name
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], s)
	}
	for _, key := range order {
		playGroup(t, config, groups[key], check)
	}
}

func playGroup(t *testing.T, config string, group []*shape, check func(t *testing.T, s *shape, list []execution)) {
	t.Helper()
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: seeing(ConfigFor(m, config, group[0].config))})
	for _, s := range group {
		t.Run(s.name, func(t *testing.T) {
			if s.slow && os.Getenv(recordEnv) == "" {
				t.Skipf("takes a minute; it is played when %s is set", recordEnv)
			}
			st := newStage(t, m, p, s)
			s.play(st)
			list := append(st.earlier, executions(st.ctx, t, st.c, st.id)...)
			for n, e := range list {
				require.Empty(t, faults(e.history), "workflow run %d", n+1)
			}
			check(t, s, list)
		})
	}
}

func newStage(t *testing.T, m *Model, p *Process, s *shape) *stage {
	t.Helper()
	st := &stage{t: t, m: m, gate: NewGate(), mark: fmt.Sprintf("shape: %s.", s.name), id: uuid.NewString()}
	st.first = SayWatched(st.mark)
	t.Cleanup(st.gate.Release)
	script := m.On(AnyMessage(st.mark))
	if s.script != nil {
		s.script(script, st.gate)
	} else {
		holdsOnce(script, st.gate)
	}
	st.use(p)
	_, err := st.api.CreateThread(st.ctx, st.id, nil)
	require.NoError(t, err)
	return st
}

// use goes on with a process.
func (s *stage) use(p *Process) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	s.p, s.api, s.c = p, p.API(), dial(s.t, p.Temporal)
	watched, end := watch(ctx, s.c, s.id)
	s.t.Cleanup(func() { end(nil) })
	s.ctx = watched
}

func running(ctx context.Context, t *testing.T, c client.Client, threadID string) bool {
	t.Helper()
	d, err := c.DescribeWorkflowExecution(ctx, thread.WorkflowID(threadID), "")
	require.NoError(t, err)
	return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}
