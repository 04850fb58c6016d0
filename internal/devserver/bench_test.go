package devserver

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// BenchmarkActivityRoundTrip measures one activity after another in one workflow: from a call to the next.
func BenchmarkActivityRoundTrip(b *testing.B) {
	c := dial(b, shared)
	var calls []time.Time // written by one activity at a time
	startWorker(b, c, "bench", func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(sequence, workflow.RegisterOptions{Name: "Sequence"})
		r.RegisterActivityWithOptions(func(context.Context) error {
			calls = append(calls, time.Now())
			return nil
		}, activity.RegisterOptions{Name: "Mark"})
	})
	run := func(n int) {
		calls = calls[:0]
		w, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "bench"}, "Sequence", n)
		require.NoError(b, err)
		require.NoError(b, w.Get(b.Context(), nil))
	}
	run(20)
	b.ResetTimer()
	run(b.N + 1)
	b.StopTimer()
	b.ReportMetric(float64(median(gaps(calls)).Microseconds())/1000, "p50-ms")
}

// BenchmarkStart measures from the call to a server that is ready, on a new directory and on one with a database.
func BenchmarkStart(b *testing.B) {
	for _, fresh := range []bool{true, false} {
		name := "existing"
		if fresh {
			name = "fresh"
		}
		b.Run(name, func(b *testing.B) {
			o := Options{DataDir: b.TempDir(), SearchAttributes: testAttributes(), Logger: testLogger()}
			stopFully(b, startServer(b, o))
			b.ResetTimer()
			for range b.N {
				if fresh {
					o.DataDir = b.TempDir()
				}
				s := startServer(b, o)
				b.StopTimer()
				stopFully(b, s)
				b.StartTimer()
			}
		})
	}
}

// The stock server puts an activity on a grid of 50 ms. The best of many is asked for, so that a busy machine does not
// matter.
func TestStepsAreNotOnTheStockGrid(t *testing.T) {
	t.Parallel()
	c := dial(t, shared)
	var calls []time.Time
	startWorker(t, c, "grid", func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(sequence, workflow.RegisterOptions{Name: "Sequence"})
		r.RegisterActivityWithOptions(func(context.Context) error {
			calls = append(calls, time.Now())
			return nil
		}, activity.RegisterOptions{Name: "Mark"})
	})
	w, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "grid"}, "Sequence", 30)
	require.NoError(t, err)
	require.NoError(t, w.Get(t.Context(), nil))
	require.Len(t, calls, 30)
	require.Less(t, slices.Min(gaps(calls)), 35*time.Millisecond)
}

func sequence(ctx workflow.Context, n int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range n {
		if err := workflow.ExecuteActivity(ctx, "Mark").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func gaps(times []time.Time) []time.Duration {
	var d []time.Duration
	for i := 1; i < len(times); i++ {
		d = append(d, times[i].Sub(times[i-1]))
	}
	return d
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
