package agent

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reservedWords are commands of clients, never skills.
var reservedWords = []string{"bootstrap", "goal", "help", "memory", "models", "new", "status"}

var slashWord = regexp.MustCompile(`^/([a-z0-9]+(?:-[a-z0-9]+)*)`)

// ParseSlash reads a message that calls a skill by name (spec 4.15): /name, then
// the end or a blank, any blank of Unicode. rest is the text behind it.
func ParseSlash(text string) (name, rest string, ok bool) {
	found := slashWord.FindStringSubmatch(text)
	if found == nil || slices.Contains(reservedWords, found[1]) {
		return "", "", false
	}
	rest = text[len(found[0]):]
	if next, _ := utf8.DecodeRuneInString(rest); rest != "" && !unicode.IsSpace(next) {
		return "", "", false
	}
	return found[1], strings.TrimSpace(rest), true
}
