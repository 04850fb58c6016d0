package crash

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTemporalsDatabaseIsLostBetweenTwoStarts brings threads into all states,
// kills the process and deletes the file in which Temporal keeps its workflows:
// our own database has all that was acknowledged.
func TestTemporalsDatabaseIsLostBetweenTwoStarts(t *testing.T) {
	t.Parallel()
	p := startOne(t)
	var idle []*scene
	for n := range 10 {
		s := stage(t, p, moment{name: fmt.Sprintf("idle %d", n)})
		s.plainRun("before")
		idle = append(idle, s)
	}
	var list []moment
	for _, m := range moments() {
		if m.fleeting {
			killTogether(t, p, []moment{m}, killAll, p.loseTemporal)
		} else {
			list = append(list, m, m)
		}
	}
	killTogether(t, p, list, killAll, p.loseTemporal)
	for _, s := range idle {
		s.plainRun("afterwards")
		require.NoError(t, matches(s.history, shape(s.messages())), s.name)
	}
}
