package agent

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// ModelDelay is how long to wait after an attempt of a model call has failed (1
// is the first): a uniform share of the time between the base and three times
// the wait before, at most the longest one, so that calls that failed together
// do not come back together (spec 4.8). The waits of a call are a function of
// its name: an attempt needs to know nothing of those before it.
func (p ModelCallPolicy) ModelDelay(call string, attempt int, burst bool) time.Duration {
	base := p.BaseDelay
	if burst && p.BurstDelay > 0 {
		base = p.BurstDelay // a first wait below it would be the same for all
	}
	if base >= p.MaxDelay {
		return p.MaxDelay
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(call))             // never fails
	r := rand.New(rand.NewPCG(h.Sum64(), 0)) //nolint:gosec // it spreads load and keeps no secret
	wait := base
	for range attempt {
		longest := max(base, min(p.MaxDelay, 3*wait))
		wait = (base + time.Duration(r.Int64N(int64(longest-base)+1))).Round(time.Millisecond)
	}
	return wait
}
