package model

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxGrepWords is how many words the demo searches for.
const maxGrepWords = 4

// plainWords tell nothing about what a question is about.
const plainWords = " a about above after again all also an and any are as ask at be because been before being between both but by can " +
	"could did do does doing down during each few find for from further give had has have having he her here him his how i if in into " +
	"is it its just make me more most my no nor not now of off on once only or other our out over own please report same say see she " +
	"should show so some such summarise summarize tell than that the their them then there these they this those through to too under " +
	"until up us very was we were what when where which while who whom why will with would write you your file files uploaded upload "

// tellingWords are the n words of a question that say most: no plain words, long
// ones first, each once.
func tellingWords(question string, n int) []string {
	var words []string
	for _, w := range splitWords(question) {
		if utf8.RuneCountInString(w) < 2 || strings.Contains(plainWords, " "+w+" ") || slices.Contains(words, w) {
			continue
		}
		words = append(words, w)
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(weight(b), weight(a)) })
	return words[:min(n, len(words))]
}

// weight is the length of a word; a Han character counts as much as two letters.
func weight(w string) int {
	n := 0
	for _, r := range w {
		n++
		if unicode.Is(unicode.Han, r) {
			n++
		}
	}
	return n
}

// splitWords are the words of a text in lower case. Han text has no spaces, so
// each pair of neighbours counts as one.
func splitWords(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			if unicode.Is(unicode.Han, before) {
				words = append(words, string([]rune{before, r}))
			}
		case unicode.IsLetter(r), unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		before = r
	}
	flush()
	return words
}

// scoreHeading is the relevance of a heading, and of links, with words of the
// question: that of a sentence is higher.
const scoreHeading = 1

// relevance grows with the words of the question that a line has, whole or by
// their stem ("durable" for "durability"). Of two lines with as many, one with a
// figure in it says more, and a heading or a list of links says least.
func relevance(line string, words []string) int {
	const whole, byStem = 6, scoreHeading + 3
	lower := strings.ToLower(line)
	n := 0
	for _, w := range words {
		switch {
		case strings.Contains(lower, w):
			n += whole
		case strings.Contains(lower, stem(w)):
			n += byStem
		}
	}
	switch {
	case n == 0:
	case strings.HasPrefix(strings.TrimSpace(line), "#"), mostlyLinks(line):
		n = scoreHeading
	case strings.ContainsFunc(line, unicode.IsDigit):
		n++
	}
	return n
}

// stem is the part of a long word that its relatives share: its first half, and
// at least five letters.
func stem(w string) string {
	const shortest = 5
	r := []rune(w)
	return string(r[:min(len(r), max(shortest, len(r)/2))])
}
