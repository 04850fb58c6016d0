package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Error is one mistake in a config file or in the .env beside it. Load joins
// all that it finds with errors.Join, so errors.As reaches the first by line.
type Error struct {
	File string // path as it was opened
	Line int    // counted from 1; 0 when the mistake has no line
	Msg  string // what is wrong and what to do, without secret values
}

// Error returns "file:line: message" on one line.
func (e *Error) Error() string {
	if e.File == "" {
		return e.Msg
	}
	return position(e.File, e.Line) + ": " + e.Msg
}

// Mistakes returns what an error of Load joins, one by one. Another error is one
// mistake without a file.
func Mistakes(err error) []*Error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, e := range joined.Unwrap() {
			all = append(all, Mistakes(e)...)
		}
		return all
	}
	var e *Error
	if errors.As(err, &e) {
		return []*Error{e}
	}
	return []*Error{{Msg: err.Error()}}
}

// Warning is something in a config that works but is probably not meant: an
// unknown section, an old schema, a tool that this version does not have.
type Warning struct {
	File string // path as it was opened; empty when no file was found
	Line int    // counted from 1; 0 when there is no line
	Msg  string
}

// String returns "file:line: message" on one line.
func (w Warning) String() string {
	if w.File == "" {
		return w.Msg
	}
	return position(w.File, w.Line) + ": " + w.Msg
}

func position(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// problems gathers what a load finds, so that a user sees all of it at once.
type problems struct {
	file  string
	errs  []*Error
	warns []Warning
}

func (p *problems) errorf(line int, format string, args ...any) {
	p.errs = append(p.errs, &Error{File: p.file, Line: line, Msg: printable(fmt.Sprintf(format, args...))})
}

func (p *problems) warnf(line int, format string, args ...any) {
	p.warns = append(p.warns, Warning{File: p.file, Line: line, Msg: printable(fmt.Sprintf(format, args...))})
}

// printable keeps a message on one line and control characters of a file out of
// the terminal: keys are shown as they are and may hold anything.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// err returns the errors in the order of their lines, nil when there are none.
func (p *problems) err() error {
	slices.SortStableFunc(p.errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	joined := make([]error, len(p.errs))
	for i, e := range p.errs {
		joined[i] = e
	}
	return errors.Join(joined...)
}

// warnings returns the warnings in the order of their lines.
func (p *problems) warnings() []Warning {
	slices.SortStableFunc(p.warns, func(a, b Warning) int { return cmp.Compare(a.Line, b.Line) })
	return p.warns
}
