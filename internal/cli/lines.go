package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// LineReader reads lines that a wait can be cut short of, which a read of standard input cannot.
type LineReader struct {
	in      *bufio.Reader
	pending chan line // of a read that was started and not taken yet
}

type line struct {
	text string
	err  error
}

// NewLineReader reads from r, which must not be read by anybody else from then on.
func NewLineReader(r io.Reader) *LineReader { return &LineReader{in: bufio.NewReader(r)} }

// Line gives the next line without its end. It is io.EOF when there is none, the context's cause when that ends first;
// the line then stays for the next call. Only one call at a time.
func (l *LineReader) Line(ctx context.Context) (string, error) {
	return l.read(ctx, func() (string, error) {
		text, err := l.in.ReadString('\n')
		if errors.Is(err, io.EOF) && text != "" {
			err = nil
		}
		return strings.TrimRight(text, "\r\n"), err
	})
}

// All gives everything up to the end of the input.
func (l *LineReader) All(ctx context.Context) (string, error) {
	return l.read(ctx, func() (string, error) {
		text, err := io.ReadAll(l.in)
		return string(text), err
	})
}

func (l *LineReader) read(ctx context.Context, next func() (string, error)) (string, error) {
	if l.pending == nil {
		l.pending = make(chan line, 1)
		go func(to chan<- line) {
			text, err := next()
			to <- line{text, err}
		}(l.pending)
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-l.pending:
		l.pending = nil
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return got.text, fmt.Errorf("reading standard input: %w", got.err)
		}
		return got.text, got.err
	}
}
