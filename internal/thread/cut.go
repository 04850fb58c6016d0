package thread

import "unicode/utf8"

// Prefix cuts s to at most n bytes without splitting a character; a negative n
// leaves nothing.
func Prefix(s string, n int) string {
	n = max(n, 0)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// FirstRunes is the first n characters of s.
func FirstRunes(s string, n int) string {
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Shorten cuts s to n characters, the last three of them dots.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return FirstRunes(s, n-3) + "..."
}
