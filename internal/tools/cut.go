package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// cutMiddle keeps the beginning and the end of a text that is longer than limit
// characters. The marker between them counts, so the result is never longer than
// the limit. A limit of 0 or less keeps everything.
func cutMiddle(s string, limit int, marker func(skipped int) string) string {
	total := utf8.RuneCountInString(s)
	if limit <= 0 || total <= limit {
		return s
	}
	// The marker is as long as the number in it: the number of all characters is
	// the longest that it can be.
	room := limit - utf8.RuneCountInString(marker(total))
	if room <= 0 {
		return string([]rune(s)[:limit])
	}
	r := []rune(s)
	tail := room / 2
	head := room - tail
	return string(r[:head]) + marker(total-room) + string(r[total-tail:])
}

// cutHead keeps the beginning of a text that is longer than limit characters, of
// total characters in all. The marker behind it counts.
func cutHead(s string, limit, total int, marker func(shown int) string) string {
	if limit <= 0 || total <= limit {
		return s
	}
	room := limit - utf8.RuneCountInString(marker(total))
	if room <= 0 {
		return thread.FirstRunes(s, limit)
	}
	return thread.FirstRunes(s, room) + marker(room)
}

// bounded cuts the middle out of a long error text.
func bounded(s string, n int) string {
	return cutMiddle(s, n, func(skipped int) string { return fmt.Sprintf("\n... [%d characters skipped] ...\n", skipped) })
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}
