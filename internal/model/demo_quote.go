package model

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxContinued is how many lines a sentence is followed at most.
	maxContinued = 3
	// minWrapped is how long a line is, in characters, that an editor may have
	// broken: the lines of lists and poems are shorter.
	minWrapped = 40
)

// wholeSentences takes the text of chosen lines, in the order of the file, from
// its lines: to the end of a sentence that a line break cuts in two, and without
// the end of the one before. A chosen line that an earlier quote has in it is no quote of its own.
func wholeSentences(chosen []quote, source, words []string) []quote {
	var quotes []quote
	for _, q := range chosen {
		if n := len(quotes); n > 0 && q.line <= quotes[n-1].last() {
			quotes[n-1].score = max(quotes[n-1].score, q.score)
			continue
		}
		first := shorten(source[q.line-1], maxQuoted)
		q.lines, q.text = []string{first}, first
		for _, next := range source[q.line:] {
			text := shorten(next, maxQuoted)
			if len(q.lines) > maxContinued || len(q.text)+len(text) > maxQuoted || !goesOn(q.file, q.lines[len(q.lines)-1], text) {
				break
			}
			q.lines = append(q.lines, text)
			if end := sentenceEnd.FindStringIndex(text); end != nil {
				q.text += " " + strings.TrimSpace(text[:end[1]])
				break
			}
			q.text += " " + text
		}
		if q.line > 1 && goesOn(q.file, strings.TrimSpace(source[q.line-2]), first) {
			q.text = withoutTail(q.text, words)
		}
		quotes = append(quotes, q)
	}
	return quotes
}

// withoutTail leaves out the end of a sentence that text begins with, unless the
// words that it was chosen for stand there.
func withoutTail(text string, words []string) string {
	end := tailEnd.FindStringIndex(text)
	if end == nil || relevance(text[end[1]:], words) < relevance(text, words) {
		return text
	}
	return text[end[1]:]
}

var (
	// sentenceEnd is the first end of a sentence in a line.
	sentenceEnd = regexp.MustCompile("[.!?:;][\"'”’)*_`]*(\\s|$)|[。！？]")
	// tailEnd is where another sentence begins in a line.
	tailEnd = regexp.MustCompile("[.!?][\"'”’)*_`]*\\s+")
	// closesLine is the end of a sentence at the end of a line.
	closesLine = regexp.MustCompile("([.!?:;…][\"'”’)*_`]*|[。！？])$")
	// newBlock begins what is no part of the paragraph above it.
	newBlock = regexp.MustCompile("^(#|\\||>|```|~~~|[-*+] |[0-9]+[.)] |<)")
	// noProse begins a line that no paragraph goes on from.
	noProse = regexp.MustCompile("^(#|\\||```|~~~|<)")
)

// goesOn reports whether the sentence that a line of a file ends in goes on in
// the next one.
func goesOn(file, line, next string) bool {
	prose := []string{".md", ".markdown", ".txt", ".rst", ".org", ".tex"}
	if !slices.Contains(prose, strings.ToLower(path.Ext(file))) || next == "" {
		return false
	}
	if closesLine.MatchString(line) || noProse.MatchString(line) || newBlock.MatchString(next) {
		return false
	}
	return utf8.RuneCountInString(line) >= minWrapped
}

var links = regexp.MustCompile(`!?\[[^\]]*\]\([^)]*\)|<?https?://\S+`)

// mostlyLinks reports whether a line has more letters in links than beside them.
func mostlyLinks(line string) bool {
	letters := func(s string) int {
		n := 0
		for _, r := range s {
			if unicode.IsLetter(r) {
				n++
			}
		}
		return n
	}
	return 2*letters(links.ReplaceAllString(line, "")) < letters(line)
}
