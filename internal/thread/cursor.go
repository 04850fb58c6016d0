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
	// Compacted is set once older rows are summarised: they stay listed, and the
	// model does not read them any more.
	Compacted *Compacted `json:"compacted,omitempty"`
}

// Compacted says what of a transcript the model reads after a compaction: the
// summary, then the rescued rows, then everything in view from Cut on.
type Compacted struct {
	Summary int64   `json:"summary"`           // position of the row that holds the summary
	Cut     int64   `json:"cut"`               // rows before it are summarised
	Rescued []int64 `json:"rescued,omitempty"` // positions before Cut that are kept word for word
	// Told is the message that told the date, when it has gone out of view with the
	// others: what it told stands beside the summary from then on.
	Told string `json:"told,omitempty"`
}

// Model is the cursor of what a model reads: without compaction the same.
func (c Cursor) Model() Cursor {
	if c.Compacted == nil {
		return c.Clone()
	}
	k := c.Compacted
	view := Cursor{Segments: []Segment{{From: k.Summary, To: k.Summary + 1}}}
	for _, pos := range k.Rescued {
		if c.Contains(pos) && pos < k.Cut {
			view.Segments = append(view.Segments, Segment{From: pos, To: pos + 1})
		}
	}
	for _, s := range c.Segments {
		if s.To > k.Cut {
			view.Segments = append(view.Segments, Segment{From: max(s.From, k.Cut), To: s.To})
		}
	}
	return view
}

// SameView reports whether models read the same rows of both, as far as
// compaction goes.
func (c Cursor) SameView(other Cursor) bool {
	a, b := c.Compacted, other.Compacted
	if a == nil || b == nil {
		return a == b
	}
	return a.Summary == b.Summary && a.Cut == b.Cut && slices.Equal(a.Rescued, b.Rescued)
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
	clone := Cursor{Segments: append([]Segment(nil), c.Segments...)}
	if c.Compacted != nil {
		k := *c.Compacted
		k.Rescued = slices.Clone(k.Rescued)
		clone.Compacted = &k
	}
	return clone
}
