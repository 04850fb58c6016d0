package synopsis

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bound a text that cannot be written to a file, in characters.
type Limits struct {
	Max  int // the longest text that stays as it is, and the longest result
	Head int // kept of the beginning of a longer one
	Tail int // kept of its end
}

// Clip leaves out the middle of a text that is longer than Max characters. The
// result, with the note that says how much is missing, is never longer than that
// (D12).
func Clip(text, tool string, l Limits) string {
	total := utf8.RuneCountInString(text)
	if total <= l.Max {
		return text
	}
	note := func(missing int) string {
		return fmt.Sprintf("\n\n[... %d characters of the result of %s are left out here; they could not be kept ...]\n\n", missing, tool)
	}
	room := l.Max - utf8.RuneCountInString(note(total))
	if room <= 0 {
		return prefix(text, l.Max)
	}
	head, tail := max(l.Head, 0), max(l.Tail, 0)
	if head+tail > room {
		head = room * head / (head + tail)
		tail = room - head
	}
	first, last := prefix(text, head), suffix(text, tail)
	// The beginning may end earlier and the end begin later, never the other way.
	if at := strings.LastIndexByte(first, '\n'); at > len(first)/2 {
		first = first[:at]
	}
	if at := strings.IndexByte(last, '\n'); at >= 0 && at < len(last)/2 {
		last = last[at+1:]
	}
	return first + note(total-utf8.RuneCountInString(first)-utf8.RuneCountInString(last)) + last
}

// middle keeps the beginning and the end of a text, two thirds and one.
func middle(s string, limit int, mark string) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	room := limit - utf8.RuneCountInString(mark)
	if room <= 0 {
		return prefix(s, limit)
	}
	head := room * 2 / 3
	return prefix(s, head) + mark + suffix(s, room-head)
}

// prefix is the first n characters.
func prefix(s string, n int) string {
	if n <= 0 {
		return ""
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// suffix is the last n characters.
func suffix(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}
