package synopsis

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Options say what a synopsis is of.
type Options struct {
	Tool string // that gave the text
	Path string // of the file that has all of it, virtual
	Head int    // characters of the beginning that are shown
	Tail int    // of the end
	Max  int    // of the synopsis
}

// outline is what is told of a text of some kind.
type outline struct {
	kind      string
	title     string
	structure []string
	notable   []string
}

// Bounds of what is looked at and told.
const (
	maxInput    = 5_000_000 // bytes; of a longer text only the beginning is looked at
	maxLines    = 24        // of the structure
	maxNotable  = 5
	maxLineText = 160 // characters
)

// Of describes a text that stands in a file. The result is at most Max characters
// long.
func Of(text string, o Options) string {
	total := utf8.RuneCountInString(text)
	about := describe(text)
	var b strings.Builder
	fmt.Fprintf(&b, "[The result of %s has %d characters (about %d tokens). All of it is in %s]\n", o.Tool, total, (total+3)/4, o.Path)
	fmt.Fprintf(&b, "Kind: %s, %d lines\n", about.kind, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
	if about.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", line(about.title))
	}
	list(&b, "Structure:", about.structure, maxLines)
	list(&b, "Notable lines:", about.notable, maxNotable)
	access := fmt.Sprintf("\n[Read more with read_file: path %s, with start_line and end_line]", o.Path)
	shown := sample(text, total, o.Head, o.Tail)
	// When there is no room for everything, the sample is what gives way.
	room := o.Max - utf8.RuneCountInString(b.String()) - utf8.RuneCountInString(access) - len("Sample:\n")
	if room > 0 {
		b.WriteString("Sample:\n")
		b.WriteString(middle(shown, room, "\n...\n"))
	}
	return prefix(b.String()+access, o.Max)
}

// list writes a heading and its bullets; nothing for an empty one.
func list(b *strings.Builder, heading string, items []string, limit int) {
	if len(items) == 0 {
		return
	}
	b.WriteString(heading + "\n")
	for _, item := range items[:min(len(items), limit)] {
		b.WriteString("- " + line(item) + "\n")
	}
	if n := len(items) - limit; n > 0 {
		fmt.Fprintf(b, "- ... and %d more\n", n)
	}
}

// line makes a text fit for one line.
func line(s string) string {
	s = strings.Join(strings.Fields(prefix(s, 4*maxLineText)), " ")
	if utf8.RuneCountInString(s) > maxLineText {
		s = prefix(s, maxLineText-3) + "..."
	}
	return s
}

// sample is the beginning and the end of a text, at ends of lines where there
// are some near. A short text is shown whole.
func sample(text string, total, head, tail int) string {
	if total <= head+tail {
		return text
	}
	first, last := prefix(text, head), suffix(text, tail)
	if at := strings.LastIndexByte(first, '\n'); at > len(first)/2 {
		first = first[:at]
	}
	if at := strings.IndexByte(last, '\n'); at >= 0 && at < len(last)/2 {
		last = last[at+1:]
	}
	return first + "\n...\n" + last
}
