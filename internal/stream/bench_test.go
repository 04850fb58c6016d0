package stream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
)

// flush is how often a model's stream is written.
const flush = 30 * time.Millisecond

// Benchmark200Readers measures how late 200 readers of one run see an event,
// from before its insert until the reader has it. The promise is a p95 of
// 100 ms.
func Benchmark200Readers(b *testing.B) {
	const readers = 200
	s, h := openStore(b)
	o := claim(b, s, "t1")
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	begin := time.Now()
	sent := make([]atomic.Int64, b.N+1) // nanoseconds since begin
	var mu sync.Mutex
	var delays []time.Duration
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			r := NewReader(s, h, "t1", 0)
			defer r.Close()
			var own []time.Duration
			for after := int64(0); after < int64(b.N); {
				events, err := r.Next(ctx)
				if err != nil {
					b.Error(err)
					return
				}
				now := time.Since(begin)
				for _, e := range events {
					own = append(own, now-time.Duration(sent[e.Seq].Load()))
					after = e.Seq
				}
			}
			mu.Lock()
			delays = append(delays, own...)
			mu.Unlock()
		})
	}
	tick := time.NewTicker(flush)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		sent[i+1].Store(int64(time.Since(begin)))
		require.NoError(b, s.Append(ctx, o, store.NewEvent{Type: store.EventDelta, Data: store.Delta{MessageID: o.MessageID, Text: "some words of the answer "}}))
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(delays[len(delays)*95/100].Microseconds())/1000, "p95-ms")
}
