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

func TestWhatAModelReads(t *testing.T) {
	t.Parallel()
	c := Cursor{Segments: []Segment{{0, 4}, {6, 10}}}
	require.Equal(t, c, c.Model())
	c.Compacted = &Compacted{Summary: 10, Cut: 7, Rescued: []int64{2, 5, 8}}
	require.Equal(t, []Segment{{10, 11}, {2, 3}, {7, 10}}, c.Model().Segments, "5 is not in view, 8 stays anyway")
	require.False(t, c.Contains(10), "a summary is not listed")
	other := c.Clone()
	require.True(t, c.SameView(other))
	other.Compacted.Rescued[0] = 3
	require.False(t, c.SameView(other))
	require.Equal(t, int64(2), c.Compacted.Rescued[0], "a clone shares nothing")
	other.Compacted = nil
	require.False(t, c.SameView(other))
	require.True(t, other.SameView(Cursor{}))
}
