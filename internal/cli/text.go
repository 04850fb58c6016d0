package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Clean makes one line of text from outside that a terminal can show safely: control characters, escape sequences'
// first bytes among them, become spaces, runs of white space become one space.
func Clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unsafeRune(r)
	}), " ")
}

// CleanLines is Clean for text with several lines: line breaks and tabs stay, other control characters are dropped.
func CleanLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unsafeRune(r) {
			return -1
		}
		return r
	}, s)
}

// unsafeRune reports whether a terminal may act on r instead of showing it, or show the text around it in another order.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Columns is how many cells of a terminal the text takes: two for wide characters, none for combining marks.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Cut shortens a line to at most columns cells; what was cut shows as an ellipsis.
func Cut(s string, columns int) string {
	if Columns(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// tail gives the last lines of text, wrapped to columns cells, as they would stand at the bottom of a terminal.
func tail(text string, columns, lines int) []string {
	// A screenful is enough to look at: no more of a long answer is wrapped on every redraw. What is left out ends at a
	// multiple of a screenful, so that the lines do not shift with every piece that comes.
	if screen := 4 * columns * (lines + 1); len(text) > 2*screen {
		text = strings.ToValidUTF8(text[(len(text)/screen-1)*screen:], "")
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, wrap(strings.ReplaceAll(line, "\t", "    "), columns)...)
	}
	return out[max(len(out)-lines, 0):]
}

func wrap(line string, columns int) []string {
	var out []string
	start, n := 0, 0
	for i, r := range line {
		w := runeColumns(r)
		if n+w > columns && i > start {
			out = append(out, line[start:i])
			start, n = i, 0
		}
		n += w
	}
	return append(out, line[start:])
}
