package crash

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// others are threads that work all the time, and whose clients ask again whenever
// they are not answered.
type others struct {
	sys  *system
	list []*other
	over atomic.Bool
	done sync.WaitGroup
}

// other is one of those threads.
type other struct {
	id   string
	api  *testkit.API
	runs []string // that have ended
	err  error

	mu    sync.Mutex
	asked int // requests to the model
}

// working starts threads that work until rest is called.
func working(t *testing.T, p *system, n int) *others {
	t.Helper()
	all := &others{sys: p}
	p.crowd = n
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		all.done.Wait()
	})
	for range n {
		o := &other{api: p.API(t)}
		th, err := o.api.CreateThread(patient(t), "", nil)
		require.NoError(t, err)
		o.id = th.ThreadID
		p.cast.enter(o.id, o)
		all.list = append(all.list, o)
	}
	for _, o := range all.list {
		all.done.Go(func() {
			for !all.over.Load() && o.err == nil && ctx.Err() == nil {
				o.err = o.work(ctx)
			}
		})
	}
	return all
}

// answer takes its time, as a model does: a read of the file, a command, an append to it, a text.
func (o *other) answer(r *testkit.Request) testkit.Reply {
	o.mu.Lock()
	o.asked++
	o.mu.Unlock()
	run := strings.Fields(r.LastUser())[0]
	return testkit.ByTurn(
		testkit.ToolCalls(call(run+"-l", "read_file", map[string]any{"path": "/mnt/user-data/workspace/appended.txt"})),
		testkit.ToolCalls(bash(run+"-b", "echo "+run+" >> commands.txt")),
		testkit.ToolCalls(appendTo(run+"-w", "appended.txt", run+"\n")),
		testkit.Text("done with "+run, testkit.WithChunks(4)),
	)(r).With(testkit.WithDelay(time.Second))
}

// work makes one run and waits for its end.
func (o *other) work(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	name := fmt.Sprintf("run-%d", len(o.runs))
	request := testkit.SayWatched(name + " " + mark(o.id))
	api := o.api.WithHeader("Idempotency-Key", o.id+name)
	var run testkit.Run
	err := insist(ctx, func() (err error) {
		run, err = api.CreateRun(ctx, o.id, request)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for id := run.RunID; !run.Finished(); pause(ctx, 100*time.Millisecond) {
		err := insist(ctx, func() (err error) {
			run, err = api.Run(ctx, o.id, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if run.Status != "success" {
		return fmt.Errorf("%s ended as %s", name, run.Status)
	}
	o.runs = append(o.runs, run.RunID)
	return nil
}

// insist asks until there is an answer. An error that the API tells is one.
func insist(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil || testkit.StatusOf(err) != 0 || ctx.Err() != nil {
			return err
		}
		pause(ctx, 50*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// rest lets the runs that are under way end, and checks all that was done.
func (all *others) rest(t *testing.T) {
	t.Helper()
	all.over.Store(true)
	all.done.Wait()
	runs := 0
	for _, o := range all.list {
		require.NoError(t, o.err)
		o.verify(t, all.sys)
		runs += len(o.runs)
	}
	t.Logf("%d other threads did %d runs", len(all.list), runs)
}

func (o *other) verify(t *testing.T, p *system) {
	t.Helper()
	messages := messagesOf(t, o.api, o.id)
	var want []string
	commands := map[string]int{}
	for _, line := range linesOf(t, filepath.Join(p.workspace(o.id), "commands.txt")) {
		commands[line]++
	}
	seen := map[string]bool{}
	for _, m := range messages {
		require.False(t, seen[m.ID], "message %s is there twice", m.ID)
		seen[m.ID] = true
	}
	var appended []string
	for n := range o.runs {
		run := fmt.Sprintf("run-%d", n)
		want = append(want, "human: "+run, "ai:  >read_file", "tool: *", "ai:  >bash", "tool: *", "ai:  >write_file", "tool: OK", "ai: done with "+run)
		appended = append(appended, run)
	}
	require.NoError(t, matches(want, shape(messages)))
	for n := range o.runs {
		run := fmt.Sprintf("run-%d", n)
		result := messages[8*n+4].Text()
		if strings.Contains(result, "may have run") {
			require.LessOrEqual(t, commands[run], 1, "a command at most once")
		} else {
			require.Equal(t, 1, commands[run], "a command that says %q", result)
		}
	}
	require.Equal(t, appended, linesOf(t, filepath.Join(p.workspace(o.id), "appended.txt")), "each append once")
	o.mu.Lock()
	defer o.mu.Unlock()
	require.LessOrEqual(t, o.asked, p.modelClaims(t, o.id), "a request to the model without a claim")
}
