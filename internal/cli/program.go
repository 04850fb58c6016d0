package cli

import (
	"cmp"
	"strings"
	"unicode"
)

// ProgramName is how commands that are told to a person begin: the name that the program was called by, or deerflow when
// that is not known.
func ProgramName(calledBy string) string { return cmp.Or(calledBy, "deerflow") }

// Quoted writes a word as a POSIX shell reads it.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=@%+,~", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) && word[0] != '~' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
