package model

import (
	"bytes"
	"encoding/json"
	"strings"
)

// call is one tool call that is being streamed.
type call struct {
	index   looseInt
	id      string // as the provider sent it, "" while unknown
	unique  string // the same, made unique in the thread
	name    string
	args    strings.Builder
	join    joiner
	nesting nesting
	extra   json.RawMessage
	// again: its name came once more, without arguments, after its arguments
	// were complete. Either that was said twice or it begins another call of the
	// same tool; what comes next tells.
	again bool
}

// news reports whether the piece brings anything.
func (d ToolCallDelta) news() bool { return d.ID != "" || d.Name != "" || d.Args != "" }

// callList puts tool calls together from pieces that may lack an index, an id,
// or both (A09, A11).
type callList struct {
	calls []*call
	known func(string) bool // ids of the thread; may be nil
	used  map[string]bool   // ids of this answer
}

// add takes a piece in and returns the position of its call with the part of it
// that is new.
func (l *callList) add(p callPiece) ToolCallDelta {
	if strings.TrimSpace(p.id) == "" {
		p.id = ""
	}
	at := l.find(p)
	if at < 0 {
		if p.name == "" {
			p.name = l.promised(p)
		}
		at = len(l.calls)
		l.calls = append(l.calls, &call{index: p.index})
	}
	c, d := l.calls[at], ToolCallDelta{Index: at}
	c.again = c.again || p.name != "" && p.name == c.name && blankBytes(p.args) && c.nesting.complete()
	if c.id == "" && p.id != "" {
		c.id, c.unique = p.id, l.claim(p.id)
		d.ID = c.unique
	}
	// A name comes whole and may be repeated; few servers send it in parts.
	if p.name != "" && p.name != c.name && c.args.Len() == 0 {
		d.Name = p.name
		c.name += p.name
	}
	if len(p.args) > 0 {
		d.Args = c.join.push(p.args)
		c.args.WriteString(d.Args)
		c.nesting.feed([]byte(d.Args))
	}
	if !isNull(p.extra) {
		c.extra = p.extra
	}
	return d
}

// promised is the name of the call that a nameless piece begins, when that call
// was announced by the piece before.
func (l *callList) promised(p callPiece) string {
	at := l.last(func(c *call) bool { return c.index == p.index || !p.index.set })
	if at < 0 || !l.calls[at].startsAnew(p) {
		return ""
	}
	l.calls[at].again = false
	return l.calls[at].name
}

// claim takes an id, with a suffix when the thread has seen it.
func (l *callList) claim(id string) string {
	id = boundedID(id)
	id = freshID(id, func(id string) bool { return l.used[id] || l.known != nil && l.known(id) })
	if l.used == nil {
		l.used = map[string]bool{}
	}
	l.used[id] = true
	return id
}

// name gives an id to every call that came without, and returns the news.
func (l *callList) name(scope string) Delta {
	var d Delta
	for i, c := range l.calls {
		if c.unique == "" {
			c.unique = l.claim(madeID(scope, i))
			d.ToolCalls = append(d.ToolCalls, ToolCallDelta{Index: i, ID: c.unique})
		}
	}
	return d
}

// find is the position of the call that a piece belongs to, -1 for a new one.
func (l *callList) find(p callPiece) int {
	if p.index.set {
		at := l.last(func(c *call) bool { return c.index.set && c.index.n == p.index.n })
		if at >= 0 {
			return l.unlessAnew(at, p)
		}
	}
	switch current := len(l.calls) - 1; {
	case p.id != "":
		return l.findByID(p)
	case p.index.set || current < 0:
		return -1
	default:
		return l.unlessAnew(current, p)
	}
}

func (l *callList) findByID(p callPiece) int {
	at := l.last(func(c *call) bool { return c.id == p.id })
	if at >= 0 {
		if p.index.set && p.name != "" {
			return -1 // a second call that was given the same id
		}
		return at
	}
	// The id of the call being streamed comes late.
	current := len(l.calls) - 1
	if !p.index.set && p.name == "" && current >= 0 && l.calls[current].id == "" {
		return current
	}
	return -1
}

func (l *callList) unlessAnew(at int, p callPiece) int {
	if l.calls[at].startsAnew(p) {
		return -1
	}
	return at
}

// startsAnew reports whether a piece that points at c is the beginning of
// another call: some servers send every call under index 0, or under none.
func (c *call) startsAnew(p callPiece) bool {
	argued := !blankBytes(p.args)
	if p.name == "" {
		return c.again && argued && p.id == ""
	}
	if c.name == "" {
		return false
	}
	if p.id != "" && c.id != "" {
		return p.id != c.id
	}
	return argued && c.nesting.complete() ||
		p.name != c.name && (c.args.Len() > 0 || len(p.args) > 0)
}

func blankBytes(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

func (l *callList) last(match func(*call) bool) int {
	for i := len(l.calls) - 1; i >= 0; i-- {
		if match(l.calls[i]) {
			return i
		}
	}
	return -1
}

// begun are the calls that have at least an id, a name or arguments.
func (l *callList) begun() []*call {
	var out []*call
	for _, c := range l.calls {
		if c.name != "" || c.id != "" || c.args.Len() > 0 {
			out = append(out, c)
		}
	}
	return out
}
