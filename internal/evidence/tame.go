package evidence

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what a parser of Markdown takes in one piece: its time grows with the
// square of how deep blocks are nested, of the links in one word that are not
// closed, and of the marks in one paragraph.
const (
	maxNesting = 32
	maxInWord  = 64
)

// Tame makes a document cheap to parse, whoever wrote it: blocks are nested 32
// deep at most, and a word in which links begin again and again is broken up. With
// a maxBlock, text of more bytes than that without an empty line is broken up as
// well. Documents that people write stay as they are.
func Tame(document string, maxBlock int) string {
	var b strings.Builder
	b.Grow(len(document) + 64)
	size := 0 // of the block so far
	for line := range strings.Lines(document) {
		line = brokenWords(shallow(line))
		if strings.TrimSpace(line) == "" {
			size = 0
		}
		if maxBlock > 0 && size > 0 && size+len(line) > maxBlock {
			b.WriteByte('\n')
			line, size = strings.TrimLeft(line, " \t"), 0
		}
		for maxBlock > 0 && len(line) > maxBlock {
			n := place(line, maxBlock)
			b.WriteString(line[:n] + "\n\n")
			line = strings.TrimLeft(line[n:], " \t")
		}
		b.WriteString(line)
		size += len(line)
	}
	return b.String()
}

// place is where a line is cut after at most n bytes: behind a space, else between
// two characters.
func place(line string, n int) int {
	if i := strings.LastIndexAny(line[:n], " \t"); i > 0 {
		return i + 1
	}
	for n > 1 && !utf8.RuneStart(line[n]) {
		n--
	}
	return n
}

// shallow takes the marks of blocks that are nested too deep out of a line.
func shallow(line string) string {
	depth, at, kept := 0, 0, 0
	for {
		rest := strings.TrimLeft(line[at:], " \t")
		n := mark(rest)
		if n == 0 {
			break
		}
		at = len(line) - len(rest) + n
		if depth++; depth == maxNesting {
			kept = at
		}
	}
	if depth <= maxNesting {
		return line
	}
	return line[:kept] + " " + line[at:]
}

// mark is the length of the sign by which a quotation or an item of a list begins,
// 0 when there is none.
func mark(s string) int {
	if strings.HasPrefix(s, ">") {
		return 1
	}
	n := sign(s)
	if n > 0 && n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return 0
	}
	return n
}

// sign is the length of "-", "*", "+", "1." or "1)".
func sign(s string) int {
	rest := strings.TrimLeft(s, "0123456789")
	digits := len(s) - len(rest)
	signs := "-*+"
	if digits > 0 {
		signs = ".)"
	}
	if digits > 9 || rest == "" || strings.IndexByte(signs, rest[0]) < 0 {
		return 0
	}
	return digits + 1
}

// brokenWords puts a space into words with more links than any word has.
func brokenWords(line string) string {
	if strings.Count(line, "](") <= maxInWord {
		return line
	}
	var b strings.Builder
	links := 0
	for i := range len(line) {
		b.WriteByte(line[i])
		switch {
		case line[i] == ' ' || line[i] == '\t':
			links = 0
		case line[i] == '(' && i > 0 && line[i-1] == ']':
			if links++; links == maxInWord {
				b.WriteByte(' ')
				links = 0
			}
		}
	}
	return b.String()
}
