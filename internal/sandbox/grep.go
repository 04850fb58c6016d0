package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of a search.
const (
	grepMaxFile = 1_000_000 // larger files are left out of a search through a tree
	grepMaxLine = 2000      // characters; longer lines are left out
	grepPattern = 10_000    // bytes
)

// GrepOptions say what Grep looks for.
type GrepOptions struct {
	Pattern string // a regular expression (RE2); taken literally when it is none
	Glob    string // only files that match, as in [GlobOptions]
	Literal bool
	Case    bool // upper and lower case differ
	Max     int  // how many lines to give; 0: all
}

// Match is one line that was found.
type Match struct {
	Path string // virtual
	Line int    // from 1
	Text string // the whole line, valid UTF-8
}

// GrepResult is what was found, in the order of paths.
type GrepResult struct {
	Matches []Match
	// More: there are more than Max.
	More bool
	// Literal is why the pattern was taken literally although that was not asked
	// for; empty otherwise.
	Literal string
	// Incomplete: the tree is so large that not all of it was looked at.
	Incomplete bool
	// Large are files that a search through a tree left out for their size; they
	// can be searched by name. LargeMore counts those that are not named here.
	Large     []string
	LargeMore int
}

// namedLarge is how many files that were left out are named.
const namedLarge = 5

// Grep finds lines. Searching a tree skips binary and very large files and
// links; a file that is named is searched whatever its size.
func (l *local) Grep(ctx context.Context, asked string, o GrepOptions) (GrepResult, error) {
	v := l.view()
	defer v.close()
	p, virtual, err := v.existing("grep", asked)
	if err != nil {
		return GrepResult{}, err
	}
	s := &search{ctx: ctx, view: v, max: o.Max}
	if s.pattern, s.out.Literal, err = compilePattern(o); err != nil {
		return GrepResult{}, pathError("grep", virtual, err)
	}
	if !p.info.IsDir() {
		err = s.named(p, virtual)
	} else {
		err = s.tree(p, virtual, o.Glob)
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return s.out, pathError("grep", virtual, err)
}

func compilePattern(o GrepOptions) (*regexp.Regexp, string, error) {
	if len(o.Pattern) > grepPattern {
		return nil, "", errors.New("the pattern is longer than 10,000 bytes")
	}
	flags := ""
	if !o.Case {
		flags = "(?i)"
	}
	reason := ""
	if !o.Literal {
		re, err := regexp.Compile(flags + o.Pattern)
		if err == nil {
			return re, "", nil
		}
		reason = strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	re, err := regexp.Compile(flags + regexp.QuoteMeta(o.Pattern))
	if err != nil {
		return nil, "", fmt.Errorf("invalid pattern: %w", err)
	}
	return re, reason, nil
}

// search is one Grep in progress.
type search struct {
	ctx     context.Context
	view    *view
	pattern *regexp.Regexp
	max     int
	out     GrepResult
}

func (s *search) tree(p place, virtual, glob string) error {
	match := func(string) bool { return true }
	if glob != "" {
		g, err := newGlobber(glob)
		if err != nil {
			return err
		}
		match = g.match
	}
	var err error
	s.out.Incomplete, err = s.view.walk(s.ctx, p, 0, func(f found) error {
		if f.dir || f.link || !match(f.path) {
			return nil
		}
		file, info, err := s.view.openRegularIn(f.in, p.mount, f.base)
		if err != nil {
			return nil // gone, or nothing that can be read: the rest still counts
		}
		defer func() { _ = file.Close() }()
		if info.Size() > grepMaxFile {
			s.leaveOut(file, path.Join(virtual, f.path))
			return nil
		}
		err = s.file(file, info.Size(), path.Join(virtual, f.path))
		if err == nil || errors.Is(err, errStop) || s.ctx.Err() != nil {
			return err
		}
		return nil // a file that cannot be read does not spoil the rest
	})
	return err
}

// leaveOut notes a text file that is too large for a search through a tree.
func (s *search) leaveOut(f io.Reader, virtual string) {
	head := make([]byte, sniffSize)
	n, err := io.ReadFull(f, head)
	if _, kind := sniff(head[:n], err != nil); kind != "" {
		return // nothing that could be searched
	}
	if len(s.out.Large) < namedLarge {
		s.out.Large = append(s.out.Large, virtual)
	} else {
		s.out.LargeMore++
	}
}

// named searches the file at a place.
func (s *search) named(p place, virtual string) error {
	f, err := s.view.openRegular(p)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.file(f, p.info.Size(), virtual)
}

// file searches an open file, line by line in constant memory.
func (s *search) file(f io.Reader, size int64, virtual string) error {
	raw := bufio.NewReaderSize(&contextReader{ctx: s.ctx, r: f}, sniffSize)
	head, err := raw.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	set, kind := sniff(head, err != nil)
	if kind != "" {
		return &BinaryError{Kind: kind, Size: size}
	}
	return s.lines(set.reader(raw), virtual)
}

func (s *search) lines(r io.Reader, virtual string) error {
	in := bufio.NewReaderSize(r, grepMaxLine*utf8.UTFMax)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if len(line) == 0 && err != nil {
			return endOfFile(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if !long && utf8.RuneCount(line) <= grepMaxLine && s.pattern.Match(line) {
			if s.max > 0 && len(s.out.Matches) >= s.max {
				s.out.More = true
				return errStop
			}
			s.out.Matches = append(s.out.Matches, Match{Path: virtual, Line: number, Text: validText(string(line))})
		}
		if err != nil {
			return endOfFile(err)
		}
	}
}

// endOfFile turns io.EOF, the usual end, into none.
func endOfFile(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
