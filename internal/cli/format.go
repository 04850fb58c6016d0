package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is how a command writes its data. It is a flag value.
type Format string

// The output formats.
const (
	FormatText  Format = "text"
	FormatJSON  Format = "json"
	FormatJSONL Format = "jsonl"
)

// String is the format's name.
func (f *Format) String() string { return string(*f) }

// Type names the kind of value in help texts.
func (f *Format) Type() string { return "text|json|jsonl" }

// Set takes a format's name and refuses all others.
func (f *Format) Set(s string) error {
	formats := []Format{FormatText, FormatJSON, FormatJSONL}
	if !slices.Contains(formats, Format(s)) {
		return fmt.Errorf("output format is %q; use text, json or jsonl", s)
	}
	*f = Format(s)
	return nil
}

// WriteJSON writes v as JSON and a newline: indented for [FormatJSON], on one line otherwise. Text in it is not escaped
// for HTML.
func (f *Format) WriteJSON(w io.Writer, v any) error {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if *f == FormatJSON {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
