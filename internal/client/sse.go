package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a stream; a state with long messages is one line.
const maxLine = 256 << 20

// frameReader reads server-sent events.
type frameReader struct{ lines *bufio.Reader }

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{lines: bufio.NewReaderSize(r, 64<<10)}
}

// next reads one event; comments are skipped. A stream that ends in the middle
// of an event is an io.ErrUnexpectedEOF.
func (f *frameReader) next() (Frame, error) {
	var frame Frame
	var data [][]byte
	begun := false
	for {
		line, err := f.line()
		if err != nil {
			if begun && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
		if len(line) == 0 {
			if !begun || data == nil && frame.Event == "" {
				frame, data, begun = Frame{}, nil, false
				continue
			}
			frame.Data = bytes.Join(data, []byte("\n"))
			if !json.Valid(frame.Data) {
				return Frame{}, fmt.Errorf("event %s %s: its data is not JSON: %q", frame.Event, frame.ID, clip(string(frame.Data), 200))
			}
			return frame, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			frame.Event = string(value)
		case "data":
			data = append(data, bytes.Clone(value))
		case "id":
			frame.ID = string(value)
		}
		begun = begun || len(field) > 0
	}
}

// line reads a line without its end.
func (f *frameReader) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := f.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("a line of the stream is longer than %d bytes", maxLine)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

func decodeBody(r io.Reader, out any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decode the answer %q: %w", clip(string(data), 200), err)
	}
	return nil
}
