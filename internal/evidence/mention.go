package evidence

import (
	"strings"
	"unicode/utf8"
)

// Needle is what to look for in a text to find out whether it names an address:
// the address without its scheme, "www.", the fragment and a slash at the end.
func Needle(address string) string {
	_, rest, ok := strings.Cut(strings.TrimSpace(address), "://")
	if !ok {
		return ""
	}
	if len(rest) > 4 && strings.EqualFold(rest[:4], "www.") {
		rest = rest[4:]
	}
	rest, _, _ = strings.Cut(rest, "#")
	return strings.TrimRight(rest, "/")
}

// Mentions reports whether a text names the address that a needle is of, not one
// that only begins or ends like it.
func Mentions(text, needle string) bool {
	for from := 0; needle != ""; {
		i := strings.Index(text[from:], needle)
		if i < 0 {
			return false
		}
		start := from + i
		if begins(text[:start]) && ends(text[start+len(needle):]) {
			return true
		}
		from = start + 1
	}
	return false
}

// begins reports whether an address may begin behind a text.
func begins(before string) bool {
	if strings.HasSuffix(before, "://") || strings.HasSuffix(strings.ToLower(before), "www.") {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || !isAddressRune(r) && r != '.' && r != '@'
}

// ends reports whether an address may end before a text: what follows is no part
// of a longer one.
func ends(after string) bool {
	after = strings.TrimLeft(after, "/")
	if strings.HasPrefix(after, "#") {
		return true
	}
	after = strings.TrimLeft(after, ".,;:!?&")
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || !isAddressRune(r)
}

func isAddressRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_~%/=+@&?", r)
}
