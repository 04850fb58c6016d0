package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"deerflow/internal/thread"
)

// Document is what a document says.
type Document struct {
	// Markdown is valid UTF-8; it begins with the warning, if there is one.
	Markdown string `json:"markdown"`
	// Pages counts pages, slides or sheets; 0 for a kind that has none.
	Pages int `json:"pages,omitempty"`
	// Warning is a sentence for whoever reads the text: that pages seem to be
	// scanned, or that it was cut.
	Warning string `json:"warning,omitempty"`
}

// ConversionError says why a document cannot be converted. Trying again does not
// help. Reason is a clause for people.
type ConversionError struct {
	Reason string
	Err    error // may be nil
}

func (e *ConversionError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + thread.Shorten(e.Err.Error(), 300)
}

// Unwrap gives the error of the parser.
func (e *ConversionError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error {
	return &ConversionError{Reason: fmt.Sprintf(format, args...)}
}

// setupError is a failure that is not the document's fault.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }
func (e *setupError) Unwrap() error { return e.err }

// broken blames the document for an error of its parser.
func broken(err error) error {
	var known *ConversionError
	var setup *setupError
	if errors.As(err, &known) || errors.As(err, &setup) {
		return err
	}
	return &ConversionError{Reason: "the document is damaged", Err: err}
}

// source is a document that is being converted.
type source struct {
	name string
	r    io.ReaderAt
	size int64
	o    Options
}

// Options say what a conversion may use.
type Options struct {
	// CacheDir keeps the PDF engine compiled, which takes seconds; "" keeps it
	// nowhere. Only this user may be able to write to it.
	CacheDir string
	// Office is the path of LibreOffice, for the formats before 2007; "" is none.
	Office string
}

// Convert reads a document. What its content shows counts, not its name. The
// error is a [*ConversionError] when the document is at fault, or the context's.
func Convert(ctx context.Context, name string, r io.ReaderAt, size int64, o Options) (doc Document, err error) {
	defer func() {
		if v := recover(); v != nil {
			doc, err = Document{}, &ConversionError{Reason: "the document is damaged", Err: fmt.Errorf("panic: %v", v)}
		}
		if ended := ctx.Err(); ended != nil {
			doc, err = Document{}, ended
		}
	}()
	s := source{name: name, r: r, size: size, o: o}
	read, err := s.reader()
	if err != nil {
		return Document{}, broken(err)
	}
	doc, err = read(ctx, s)
	if err != nil {
		return Document{}, broken(err)
	}
	return doc.finished(), nil
}

// finished puts the warning in front of the text and bounds it.
func (d Document) finished() Document {
	d.Markdown = strings.ToValidUTF8(strings.ReplaceAll(d.Markdown, "\x00", ""), "\uFFFD")
	if len(d.Markdown) > maxOutput {
		d.Markdown = thread.Prefix(d.Markdown, maxOutput) + "\n"
		d.warn(fmt.Sprintf("The text was cut after %d MiB.", maxOutput>>20))
	}
	if d.Warning != "" {
		d.Markdown = "> " + d.Warning + "\n\n" + d.Markdown
	}
	return d
}

func (d *Document) warn(sentence string) {
	d.Warning = strings.TrimSpace(d.Warning + " " + sentence)
}
