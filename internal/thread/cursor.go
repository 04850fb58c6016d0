package thread

// Segment is a half-open range of positions [From, To) in the transcript.
type Segment struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Cursor says which rows of the append-only transcript are in view: segments in
// order. Compaction, regenerate, edit and fork move the cursor; they rewrite
// nothing.
type Cursor struct {
	Segments []Segment `json:"segments,omitempty"`
}

// Extend takes position pos, which must be past the end, into view.
func (c *Cursor) Extend(pos int64) {
	if n := len(c.Segments); n > 0 && c.Segments[n-1].To == pos {
		c.Segments[n-1].To = pos + 1
		return
	}
	c.Segments = append(c.Segments, Segment{From: pos, To: pos + 1})
}

// Contains reports whether a position is in view.
func (c Cursor) Contains(pos int64) bool {
	for _, s := range c.Segments {
		if pos >= s.From && pos < s.To {
			return true
		}
	}
	return false
}

// Clone is a copy that shares nothing with c.
func (c Cursor) Clone() Cursor {
	return Cursor{Segments: append([]Segment(nil), c.Segments...)}
}
