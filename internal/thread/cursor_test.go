package thread

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCursorShowsWhatItWasExtendedBy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		positions := rapid.SliceOfN(rapid.Int64Range(0, 30), 0, 40).Draw(t, "positions")
		var c Cursor
		want := map[int64]bool{}
		for _, p := range positions {
			if rapid.Bool().Draw(t, "remove") {
				c.Remove(p)
				want[p] = false
				continue
			}
			c.Extend(p)
			want[p] = true
		}
		for p := int64(-1); p < 32; p++ {
			require.Equal(t, want[p], c.Contains(p), "position %d in %v", p, c)
		}
		for i := 1; i < len(c.Segments); i++ {
			require.Less(t, c.Segments[i-1].To, c.Segments[i].From, "segments are in order and do not touch: %v", c)
		}
	})
}
