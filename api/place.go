package api

import (
	"math"
	"strconv"
	"strings"
)

// place is where a reader stands in a stream: after frame n of an event. Its
// text, "<seq>-<n>", is the id of the frame.
type place struct {
	seq int64
	n   int
}

func (p place) String() string {
	return strconv.FormatInt(p.seq, 10) + "-" + strconv.Itoa(p.n)
}

// before reports whether p comes earlier than q.
func (p place) before(q place) bool {
	return p.seq < q.seq || p.seq == q.seq && p.n < q.n
}

// afterEvent is the place behind all frames of an event.
func afterEvent(seq int64) place { return place{seq: seq, n: math.MaxInt} }

// parsePlace reads a Last-Event-ID. What is none of our ids is no place: such a
// reader starts at the beginning.
func parsePlace(id string) (place, bool) {
	seq, n, ok := strings.Cut(id, "-")
	if !ok || seq == "" {
		return place{}, false
	}
	var p place
	var err error
	if p.seq, err = strconv.ParseInt(seq, 10, 64); err != nil || p.seq < 1 {
		return place{}, false
	}
	if p.n, err = strconv.Atoi(n); err != nil || p.n < 0 {
		return place{}, false
	}
	return p, true
}
