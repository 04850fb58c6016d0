package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line of a stream, in bytes.
const maxLine = 16 << 20

var errLineTooLong = fmt.Errorf("a line of the stream is longer than %d MiB", maxLine>>20)

// event is one server-sent event.
type event struct {
	name string
	data []byte // valid until the next call
}

// eventReader reads server-sent events, more kindly than the standard asks for
// (A05): events without a blank line in between, a last line without a newline
// and bare JSON lines are understood as well.
type eventReader struct {
	r      *bufio.Reader
	line   []byte
	skipLF bool // the last line ended with CR

	name    string
	data    []byte
	nesting nesting
	has     bool // a data line was seen
	out     []byte
	ended   bool
}

func newEventReader(r *bufio.Reader) *eventReader { return &eventReader{r: r} }

// next is the next event that has data. It returns io.EOF at an end between
// events and io.ErrUnexpectedEOF at one inside an event.
func (e *eventReader) next() (event, error) {
	for !e.ended {
		line, err := e.readLine()
		switch {
		case errors.Is(err, io.EOF):
			e.ended = true
			if len(line) > 0 {
				if ev, ok := e.field(line); ok {
					return ev, nil
				}
			}
		case err != nil:
			return event{}, err
		case len(line) == 0:
			if ev, ok := e.take(); ok {
				return ev, nil
			}
		default:
			if ev, ok := e.field(line); ok {
				return ev, nil
			}
		}
	}
	if len(bytes.TrimSpace(e.data)) == 0 {
		return event{}, io.EOF
	}
	if !e.nesting.complete() {
		return event{}, io.ErrUnexpectedEOF
	}
	ev, _ := e.take()
	return ev, nil
}

// field takes one line in. It returns the event before it when this line shows
// that that one was complete.
func (e *eventReader) field(line []byte) (event, bool) {
	if line[0] == ':' {
		return event{}, false
	}
	name, value := "data", line
	if line[0] != '{' && line[0] != '[' {
		key, rest, _ := bytes.Cut(line, []byte(":"))
		name, value = string(key), bytes.TrimPrefix(rest, []byte(" "))
	}
	var before event
	var ok bool
	switch name {
	case "data":
		if e.has && e.nesting.complete() {
			before, ok = e.take()
		}
		if e.has {
			e.data = append(e.data, '\n')
		}
		e.has = true
		e.data = append(e.data, value...)
		e.nesting.feed(value)
	case "event":
		if e.has && e.nesting.complete() {
			before, ok = e.take()
		}
		e.name = string(bytes.TrimSpace(value))
	}
	return before, ok
}

// take ends the event in hand; ok is false when it has no data.
func (e *eventReader) take() (event, bool) {
	ev := event{name: e.name}
	e.out = append(e.out[:0], bytes.TrimSpace(e.data)...)
	ev.data = e.out
	e.name, e.data, e.has, e.nesting = "", e.data[:0], false, nesting{}
	return ev, len(ev.data) > 0
}

// readLine reads up to LF, CR LF or CR, without it. With io.EOF comes what was
// left.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return e.line, err
		}
		buffered, err := e.r.Peek(e.r.Buffered())
		if err != nil {
			return e.line, err
		}
		if e.skipLF {
			e.skipLF = false
			if buffered[0] == '\n' {
				e.discard(1)
				continue
			}
		}
		n := bytes.IndexAny(buffered, "\r\n")
		if n >= 0 {
			e.line = append(e.line, buffered[:n]...)
			e.skipLF = buffered[n] == '\r'
			e.discard(n + 1)
			return e.line, nil
		}
		e.line = append(e.line, buffered...)
		e.discard(len(buffered))
		if len(e.line) > maxLine || len(e.data) > maxLine {
			return nil, errLineTooLong
		}
	}
}

// discard drops n bytes that are buffered, which cannot fail.
func (e *eventReader) discard(n int) { _, _ = e.r.Discard(n) }

// nesting follows JSON text byte by byte, so that its end is known without
// parsing it again and again.
type nesting struct {
	depth   int
	started bool
	quoted  bool
	escaped bool
}

func (n *nesting) feed(text []byte) {
	for _, b := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted:
			switch b {
			case '\\':
				n.escaped = true
			case '"':
				n.quoted = false
			}
		case b == '"':
			n.quoted = true
		case b == '{' || b == '[':
			n.depth++
			n.started = true
		case b == '}' || b == ']':
			n.depth--
		}
	}
}

// complete reports whether an object or a list has been opened and closed.
func (n *nesting) complete() bool { return n.started && n.depth <= 0 && !n.quoted }
