package remote

import (
	"maps"
	"slices"
)

// pair is what both sides had of a path when they were last the same.
type pair struct{ here, there entry }

// plan says how two sides become the same. Paths are in order, directories before
// what is in them.
type plan struct {
	push, pull         []string // to the machine, to this host
	dropHere, dropAway []string // what the other side has deleted
	equal              []string // the same already
}

// compare makes the plan. base is what the sides had when they were last the same, by
// path. A side has changed a path that it has otherwise than then; when both have, this
// one wins, and where nothing is known of then, the younger one. Only what the other
// side is known to have had is deleted, and nothing is when a side was not seen whole.
func compare(here, there tree, base map[string]pair) plan {
	var p plan
	whole := !here.partial && !there.partial
	all := maps.Clone(here.entries)
	maps.Copy(all, there.entries)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h, isHere := here.entries[name]
		t, isThere := there.entries[name]
		b, known := base[name]
		switch {
		case isHere && isThere:
			p.both(name, h, t, b, known)
		case isHere && known && h.same(b.here):
			if whole {
				p.dropHere = append(p.dropHere, name)
			}
		case isHere:
			p.push = append(p.push, name)
		case known && t.same(b.there):
			if whole {
				p.dropAway = append(p.dropAway, name)
			}
		default:
			p.pull = append(p.pull, name)
		}
	}
	return p
}

// both decides a path that is on both sides.
func (p *plan) both(name string, h, t entry, b pair, known bool) {
	changedHere, changedThere := !known || !h.same(b.here), !known || !t.same(b.there)
	switch {
	case h.same(t) || !changedHere && !changedThere:
		p.equal = append(p.equal, name)
	case h.dir != t.dir:
		// A directory on one side and a file on the other: neither may replace what is
		// in the other.
	case changedHere && (known || !changedThere || h.mtime >= t.mtime):
		p.push = append(p.push, name)
	default:
		p.pull = append(p.pull, name)
	}
}
