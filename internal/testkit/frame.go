package testkit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// Frame is one server-sent event.
type Frame struct {
	ID    string    // of this frame, or the last one before it that had an id
	Event string    // "message" when the frame names none
	Data  string    // data lines, joined with a newline
	At    time.Time // when it had been read
}

// Decode decodes the data of the frame as JSON into v.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal([]byte(f.Data), v); err != nil {
		return fmt.Errorf("decode the data of the %s frame %q: %w", f.Event, f.ID, err)
	}
	return nil
}

// FrameReader parses an event stream as the WHATWG standard says. It is not
// safe for concurrent use.
type FrameReader struct {
	r        *bufio.Reader
	started  bool
	skipLF   bool // the last line ended with CR; a LF that follows belongs to it
	lastID   string
	bytes    atomic.Int64 // of the lines read
	comments atomic.Int64
	comment  func() // called with each comment; may be nil
}

// NewFrameReader returns a reader of the events in r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReader(r)}
}

// Read returns the next frame. A stream that ends between frames gives io.EOF,
// one that ends inside a frame io.ErrUnexpectedEOF, and one whose connection
// breaks the error of the connection.
func (f *FrameReader) Read() (Frame, error) {
	var block frameBlock
	for {
		line, err := f.line()
		if errors.Is(err, io.EOF) && (block.begun || line != "") {
			return Frame{}, io.ErrUnexpectedEOF
		}
		if err != nil {
			return Frame{}, err
		}
		switch {
		case line != "":
			f.field(&block, line)
		case block.data != nil:
			return f.dispatch(block), nil
		default: // a block without data is no event
			block = frameBlock{}
		}
	}
}

// frameBlock gathers the lines of one frame.
type frameBlock struct {
	begun bool // it has a line that is no comment
	event string
	data  []string
}

// field takes one line that is not empty into the block.
func (f *FrameReader) field(block *frameBlock, line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	block.begun = block.begun || name != ""
	switch name {
	case "":
		f.comments.Add(1)
		if f.comment != nil {
			f.comment()
		}
	case "event":
		block.event = value
	case "data":
		block.data = append(block.data, value)
	case "id":
		if !strings.Contains(value, "\x00") {
			f.lastID = value
		}
	}
}

func (f *FrameReader) dispatch(block frameBlock) Frame {
	frame := Frame{
		ID:    f.lastID,
		Event: block.event,
		Data:  strings.Join(block.data, "\n"),
		At:    time.Now(),
	}
	if frame.Event == "" {
		frame.Event = "message"
	}
	return frame
}

// line returns the next line without its end, which is LF, CR or CR LF. At the
// end of the stream it returns what is left with io.EOF.
func (f *FrameReader) line() (string, error) {
	var line []byte
	read := int64(0)
	defer func() { f.bytes.Add(read) }()
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			return string(line), err
		}
		read++
		skip := f.skipLF && b == '\n'
		f.skipLF = b == '\r'
		switch {
		case skip:
			continue
		case b == '\n' || b == '\r':
			return f.withoutBOM(line), nil
		}
		line = append(line, b)
	}
}

// withoutBOM drops a byte order mark from the first line of the stream.
func (f *FrameReader) withoutBOM(line []byte) string {
	text := string(line)
	if !f.started {
		f.started = true
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	return text
}
