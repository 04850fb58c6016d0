package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestModelDelay(t *testing.T) {
	t.Parallel()
	p := ModelCallPolicy{BaseDelay: time.Second, MaxDelay: 8 * time.Second, BurstDelay: 5 * time.Second}
	rapid.Check(t, func(t *rapid.T) {
		call := rapid.String().Draw(t, "call")
		wait := p.BaseDelay
		for attempt := 1; attempt <= 20; attempt++ {
			next := p.ModelDelay(call, attempt, false)
			require.GreaterOrEqual(t, next, p.BaseDelay)
			require.LessOrEqual(t, next, min(p.MaxDelay, 3*wait), "attempt %d after %s", attempt, wait)
			require.Equal(t, next, p.ModelDelay(call, attempt, false), "every worker comes to the same")
			wait = next
		}
		burst := p.ModelDelay(call, 1, true)
		require.GreaterOrEqual(t, burst, 5*time.Second)
		require.LessOrEqual(t, burst, 8*time.Second)
	})

	// Calls that failed together come back apart.
	for _, burst := range []bool{false, true} {
		seen := map[time.Duration]bool{}
		for i := range 50 {
			seen[p.ModelDelay(fmt.Sprint("call ", i), 1, burst)] = true
		}
		require.Greater(t, len(seen), 40)
	}
}

func TestModelDelayAtItsBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, ModelCallPolicy{BaseDelay: 5 * time.Second, MaxDelay: time.Second}.ModelDelay("a", 3, false), "a base above the cap is the cap")
	require.Equal(t, time.Second, ModelCallPolicy{BaseDelay: time.Second, MaxDelay: time.Second}.ModelDelay("a", 3, false))
	require.Equal(t, time.Second, ModelCallPolicy{BaseDelay: time.Second, MaxDelay: time.Second}.ModelDelay("a", 1, true), "a plan of an older version has no burst delay")
	require.Zero(t, ModelCallPolicy{}.ModelDelay("a", 1, false))
	require.LessOrEqual(t, ModelCallPolicy{BaseDelay: time.Second, MaxDelay: 8 * time.Second}.ModelDelay("a", 1000, false), 8*time.Second)
}
