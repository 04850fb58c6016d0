package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// round is a hundred scripts on one product, and what became of them.
type round struct {
	t    *testing.T
	p    target
	seed uint64

	mu     sync.Mutex
	killed int
	again  *sync.Cond // of mu: there was a kill
	runs   int
	lost   int // messages that should be there and are not
	twice  int // messages, or events of a stream, that are there more than once
	unsafe int // commands that ran more than once, or not although they said so
	stuck  int // scripts that did not come to their end
}

func newRound(t *testing.T, p target, seed uint64) *round {
	t.Helper()
	r := &round{t: t, p: p, seed: seed}
	r.again = sync.NewCond(&r.mu)
	return r
}

// longest bounds a script with all the kills in it: it is reached by a failure
// only.
const longest = 5 * time.Minute

// playAll plays all scripts, some at once, and no faster than the kills come.
func (r *round) playAll() {
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for n := range scripts {
		slots <- struct{}{}
		r.awaitKills(n * kills / scripts)
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(r.t.Context(), longest)
			defer cancel()
			kind := kinds[n%len(kinds)]
			s := &script{round: r, ctx: ctx, kind: kind, name: fmt.Sprintf("%s-%d", kind, n), rand: rand.New(rand.NewPCG(r.seed, uint64(n)))}
			if err := s.play(); err != nil && r.t.Context().Err() == nil {
				r.count(&r.stuck, "%s: %v", s.name, err)
			}
		})
	}
	wg.Wait()
}

func (r *round) awaitKills(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.killed < n && r.t.Context().Err() == nil {
		r.again.Wait()
	}
}

// count notes a fault under one of the figures.
func (r *round) count(figure *int, format string, args ...any) {
	r.t.Errorf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	*figure++
}

// kill kills at random moments until it was done often enough, or all scripts
// are over.
func (r *round) kill(over <-chan struct{}) []time.Time {
	moments := rand.New(rand.NewPCG(r.seed, scripts))
	var times []time.Time
	for len(times) < kills {
		pause := time.NewTimer(time.Duration(200+moments.IntN(1800)) * time.Millisecond)
		select {
		case <-over:
			pause.Stop()
			r.t.Errorf("all scripts were over after %d of %d kills", len(times), kills)
			return times
		case <-pause.C:
		}
		times = append(times, r.p.kill(moments))
		r.mu.Lock()
		r.killed++
		r.again.Broadcast()
		r.mu.Unlock()
	}
	return times
}

// finish stops the product, and writes the line of the table.
func (r *round) finish(times []time.Time, load string) {
	db := r.p.stop()
	all := resumes(r.t, db, times, r.p.grace())
	if err := db.Close(); err != nil {
		r.t.Errorf("close the database: %v", err)
	}
	p95 := percentile(all, .95)
	verdict := "holds"
	if p95 > bar {
		verdict = "falls short"
	}
	table = append(table, fmt.Sprintf("%-28s %20d %5d %5d %5d %5d %7d %6d %8.2fs %8.2fs %8.2fs  %s, %d times, %s",
		r.p.name(), r.seed, r.runs, len(times), r.lost, r.twice, r.unsafe, r.stuck,
		percentile(all, .5).Seconds(), p95.Seconds(), percentile(all, 1).Seconds(), verdict, len(all), load))
}
