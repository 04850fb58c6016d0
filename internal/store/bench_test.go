package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// benchStores runs a benchmark against both databases.
func benchStores(b *testing.B, run func(b *testing.B, f *fixture)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { run(b, openFixture(b, sqliteOptions(b))) })
	b.Run("postgres", func(b *testing.B) { run(b, openFixture(b, postgresOptions(b))) })
}

// reportSyncs tells how many transactions, each of them one sync of the
// write-ahead log, an operation took.
func reportSyncs(b *testing.B, f *fixture) {
	b.Helper()
	if s, ok := f.db.(*sqliteBackend); ok {
		b.ReportMetric(float64(s.writer.commits.Load())/float64(b.N), "syncs/op")
	}
}

// BenchmarkAppend is one flush of a stream: one delta in its own transaction.
func BenchmarkAppend(b *testing.B) {
	benchStores(b, func(b *testing.B, f *fixture) {
		b.Helper()
		f.newThread("t1")
		o := f.owner(ref("t1", "r1", 2))
		b.ResetTimer()
		for b.Loop() {
			require.NoError(b, f.Append(f.ctx, o, delta(o, "some words of the answer ")))
		}
		reportSyncs(b, f)
	})
}

// BenchmarkCommit is the commit of a turn.
func BenchmarkCommit(b *testing.B) {
	benchStores(b, func(b *testing.B, f *fixture) {
		b.Helper()
		f.newThread("t1")
		n := 0
		for b.Loop() {
			n++
			f.commit(commitInput(ref("t1", "r1", n), int64(n), thread.StatusBusy))
		}
		reportSyncs(b, f)
	})
}

// BenchmarkStep is all that the store does for one step: claim, two flushes,
// the row, and the commit that rides along.
func BenchmarkStep(b *testing.B) {
	benchStores(b, func(b *testing.B, f *fixture) {
		b.Helper()
		f.newThread("t1")
		n := 0
		for b.Loop() {
			n++
			require.NoError(b, oneStep(f, "t1", n))
		}
		reportSyncs(b, f)
	})
}

func oneStep(f *fixture, th string, n int) error {
	r := ref(th, "r1", n)
	if _, err := f.Commit(f.ctx, commitInput(r, int64(n), thread.StatusBusy), plainDigest); err != nil {
		return err
	}
	id := thread.MessageID(r.Run, n)
	c, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: id})
	if err != nil {
		return err
	}
	o := Owner{Ref: r, MessageID: id, Claim: c.Claim}
	for range 2 {
		if err := f.Append(f.ctx, o, delta(o, "some words of the answer ")); err != nil {
			return err
		}
	}
	_, err = f.Finish(f.ctx, o, NewRow{Pos: int64(n), Message: ai(id, strings.Repeat("answer ", 100))})
	return err
}

// Benchmark50Threads is the same for 50 threads at once; the promise for all of
// a step, Temporal's share included, is 150 a second.
func Benchmark50Threads(b *testing.B) {
	benchStores(b, func(b *testing.B, f *fixture) {
		b.Helper()
		const threads = 50
		for i := range threads {
			f.newThread(fmt.Sprint("t", i))
		}
		var mu sync.Mutex
		var times []time.Duration
		var wg sync.WaitGroup
		b.ResetTimer()
		for i := range threads {
			wg.Go(func() {
				var own []time.Duration
				for n := i; n < b.N; n += threads {
					begin := time.Now()
					if err := oneStep(f, fmt.Sprint("t", i), n+1); err != nil {
						b.Error(err)
						return
					}
					own = append(own, time.Since(begin))
				}
				mu.Lock()
				times = append(times, own...)
				mu.Unlock()
			})
		}
		wg.Wait()
		b.StopTimer()
		slices.Sort(times)
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		reportSyncs(b, f)
	})
}

// BenchmarkView is what a page load reads: 200 messages.
func BenchmarkView(b *testing.B) {
	benchStores(b, func(b *testing.B, f *fixture) {
		b.Helper()
		f.newThread("t1")
		for n := range 200 {
			require.NoError(b, oneStep(f, "t1", n+1))
		}
		b.ResetTimer()
		for b.Loop() {
			v, err := f.View(f.ctx, "t1", ViewOptions{})
			require.NoError(b, err)
			require.Len(b, v.Rows, 200)
		}
	})
}
