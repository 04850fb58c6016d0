package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxHashed is the size in bytes up to which a read goes on to the end of the file, for
// its hash and its length. Reading a few lines of a larger one stops behind
// them.
const MaxHashed = 64 << 20

// ReadOptions say what to read of a text file.
type ReadOptions struct {
	Start    int // first line, from 1; 0 is the first
	End      int // last line, inclusive; 0 is the last
	MaxChars int // of the result; 0 means no limit
}

// ReadResult is a part of a text file.
type ReadResult struct {
	Path string // virtual
	Text string // valid UTF-8 with \n line ends, at most MaxChars characters
	// Chars is the length of the range in characters, more than Text has when it
	// was cut; -1 when the range is so long that it was not read to its end.
	Chars int
	// Cut: Text is only the beginning of the range.
	Cut bool
	// PastEnd: the range begins behind the last line.
	PastEnd bool
	// Hash is the SHA-256 of the whole file, of the same content as Text; empty
	// for a file of more than 64 MiB.
	Hash     string
	Size     int64 // of the file, in bytes
	Encoding string
}

// ReadFile reads a range of lines. It needs the same memory for any file (I10):
// the file passes through, and only what fits into MaxChars is kept.
func (l *local) ReadFile(ctx context.Context, asked string, o ReadOptions) (ReadResult, error) {
	f, info, err := l.Open(ctx, asked)
	if err != nil {
		return ReadResult{}, err
	}
	defer func() { _ = f.Close() }()

	r := ReadResult{Path: info.Path, Size: info.Size}
	var sum hash.Hash
	source := io.Reader(&contextReader{ctx: ctx, r: f})
	if info.Size <= MaxHashed {
		sum = sha256.New()
		source = io.TeeReader(source, sum)
	}
	raw := bufio.NewReaderSize(source, sniffSize)
	head, err := raw.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return r, pathError("read", info.Path, err)
	}
	set, kind := sniff(head, err != nil)
	if kind != "" {
		return r, pathError("read", info.Path, &BinaryError{Kind: kind, Size: info.Size})
	}
	r.Encoding = set.name
	lines := lineRange{start: max(o.Start, 1), end: o.End, max: o.MaxChars, line: 1, all: sum != nil}
	if err := lines.read(set.reader(raw)); err != nil {
		return r, pathError("read", info.Path, err)
	}
	if sum != nil {
		// The decoder stops where it likes; the hash is of all bytes.
		if _, err := io.Copy(io.Discard, raw); err != nil {
			return r, pathError("read", info.Path, err)
		}
		r.Hash = hex.EncodeToString(sum.Sum(nil))
	}
	r.Text, r.Chars, r.Cut = validText(lines.text.String()), lines.chars, lines.cut
	r.PastEnd = lines.empty() && o.Start > 1
	if o.Start > 0 || o.End > 0 {
		r.Text = strings.TrimSuffix(r.Text, "\n")
	}
	return r, nil
}

// lineRange picks lines out of a text that passes through it.
type lineRange struct {
	start, end int // 1-based, inclusive; end 0 is the last line
	max        int // characters to keep; 0: all
	all        bool

	text  strings.Builder
	kept  int // characters in text
	chars int // characters of the range, -1 unknown
	cut   bool
	line  int // the line that the next byte belongs to
	some  bool
}

func (l *lineRange) empty() bool { return !l.some }

// done reports whether nothing more has to be seen.
func (l *lineRange) done() bool {
	return l.end > 0 && l.line > l.end || l.cut && !l.all
}

func (l *lineRange) read(r io.Reader) error {
	buf := make([]byte, 32<<10)
	pending := 0 // bytes of a character or a line end whose rest has not come yet
	for {
		n, err := r.Read(buf[pending:])
		n += pending
		chunk := buf[:n]
		if err == nil {
			// A line end that comes in two halves is held back too.
			chunk = bytes.TrimSuffix(wholeRunes(chunk), []byte("\r"))
		}
		l.feed(chunk)
		pending = copy(buf, buf[len(chunk):n])
		if l.done() {
			if l.cut && !l.all {
				l.chars = -1
			}
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *lineRange) feed(chunk []byte) {
	for len(chunk) > 0 && !l.done() {
		piece := chunk
		newline := bytes.IndexByte(chunk, '\n')
		if newline >= 0 {
			piece = chunk[:newline+1]
		}
		if l.line >= l.start {
			l.take(piece)
		}
		if newline >= 0 {
			l.line++
		}
		chunk = chunk[len(piece):]
	}
}

// take counts a piece of a line in the range and keeps what fits.
func (l *lineRange) take(piece []byte) {
	l.some = true
	if bytes.HasSuffix(piece, []byte("\r\n")) {
		piece = append(piece[:len(piece)-2:len(piece)-2], '\n')
	}
	count := utf8.RuneCount(piece)
	l.chars += count
	room := count
	if l.max > 0 {
		room = min(count, l.max-l.kept)
	}
	if room < count {
		l.cut = true
		piece = piece[:prefixRunes(piece, room)]
	}
	l.text.Write(piece)
	l.kept += room
}

// prefixRunes is the length in bytes of the first n characters.
func prefixRunes(b []byte, n int) int {
	at := 0
	for range n {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}
