package thread

import "slices"

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

// Extend takes position pos into view, where its order puts it. A position that
// is in view already changes nothing.
func (c *Cursor) Extend(pos int64) {
	i := len(c.Segments)
	for i > 0 && c.Segments[i-1].From > pos {
		i--
	}
	if i > 0 && pos < c.Segments[i-1].To {
		return
	}
	c.Segments = slices.Insert(c.Segments, i, Segment{From: pos, To: pos + 1})
	if i+1 < len(c.Segments) && c.Segments[i+1].From == pos+1 {
		c.Segments[i].To = c.Segments[i+1].To
		c.Segments = slices.Delete(c.Segments, i+1, i+2)
	}
	if i > 0 && c.Segments[i-1].To == pos {
		c.Segments[i-1].To = c.Segments[i].To
		c.Segments = slices.Delete(c.Segments, i, i+1)
	}
}

// Remove takes position pos out of view. One that is not in view changes
// nothing.
func (c *Cursor) Remove(pos int64) {
	for i, s := range c.Segments {
		if pos < s.From || pos >= s.To {
			continue
		}
		var rest []Segment
		if s.From < pos {
			rest = append(rest, Segment{From: s.From, To: pos})
		}
		if pos+1 < s.To {
			rest = append(rest, Segment{From: pos + 1, To: s.To})
		}
		c.Segments = slices.Replace(c.Segments, i, i+1, rest...)
		return
	}
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
