package evidence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// addressStart is what an address in a text begins with. Unlike in the extension
// of Markdown that makes links of them, anything may stand before it: text in
// Chinese has no spaces.
var addressStart = regexp.MustCompile(`(?i)https?://|www\.`)

// bareText joins the texts of a document that stand side by side, and gives the
// addresses in them. Marks of emphasis may well be part of an address.
type bareText struct {
	source []byte
	joined strings.Builder
	next   int // where the text goes on
}

// add takes a node in, and gives the addresses of what ends before it.
func (b *bareText) add(t *ast.Text) []string {
	var found []string
	between := ""
	if t.Segment.Start >= b.next {
		between = string(b.source[b.next:t.Segment.Start])
	}
	if t.Segment.Start < b.next || strings.Trim(between, "_~") != "" {
		found, between = b.end(), ""
	}
	b.joined.WriteString(between)
	b.joined.Write(b.source[t.Segment.Start:t.Segment.Stop])
	b.next = t.Segment.Stop
	if t.SoftLineBreak() || t.HardLineBreak() {
		found = append(found, b.end()...)
	}
	return found
}

// end gives the addresses of the text so far.
func (b *bareText) end() []string {
	if b.joined.Len() == 0 {
		return nil
	}
	s := readable([]byte(b.joined.String()))
	b.joined.Reset()
	return addressesIn(s)
}

// addressesIn finds the addresses in a text.
func addressesIn(s string) []string {
	var found []string
	end := 0
	for _, at := range addressStart.FindAllStringIndex(s, -1) {
		if at[0] < end || !mayStart(s[:at[0]], s[at[0]:]) {
			continue
		}
		address := s[at[0] : at[1]+addressLength(s[:at[0]], s[at[1]:])]
		if len(address) == at[1]-at[0] {
			continue
		}
		end = at[0] + len(address)
		if isWWW(address) {
			if !strings.Contains(address[len("www."):], ".") {
				continue
			}
			address = "http://" + address
		}
		found = append(found, address)
	}
	return found
}

func isWWW(s string) bool { return s[0] == 'w' || s[0] == 'W' }

// mayStart reports whether what stands between the two texts is the start of an
// address, not the middle of a word or of another scheme.
func mayStart(before, address string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case before == "":
		return true
	case isWWW(address):
		return !isAddressRune(r) && !strings.ContainsRune(".:", r) || r == '_' || r == '~'
	default:
		return r != '+' && (r > unicode.MaxASCII || !unicode.IsLetter(r))
	}
}

// addressLength is how much of a text belongs to the address that has begun.
func addressLength(before, rest string) int {
	e := addressEnd{quoted: strings.HasSuffix(before, "'"), last: '/'}
	n := 0
	for i, r := range rest {
		if e.ends(r, rest[i:]) {
			break
		}
		e.last = r
		n = i + utf8.RuneLen(r)
	}
	return len(strings.TrimRight(rest[:n], ".,;:!?'_~&"))
}

// addressEnd decides where an address in a text ends.
type addressEnd struct {
	quoted bool // it stands in single quotes
	last   rune
	open   []rune // the brackets that are to be closed
}

// ends reports whether an address ends before a character, which rest begins with.
func (e *addressEnd) ends(r rune, rest string) bool {
	switch {
	case r == utf8.RuneError, unicode.IsSpace(r), !unicode.IsGraphic(r), strings.ContainsRune("\"<>`*\\^|", r):
		return true
	case r == '\'':
		return e.quoted
	case r == ',' || r == ';':
		return anotherBegins(rest[1:])
	case e.last > unicode.MaxASCII && anotherBegins(rest):
		return true
	case strings.ContainsRune("([{", r):
		e.open = append(e.open, r)
		return false
	case strings.ContainsRune(")]}", r):
		return !e.closes(r)
	case r <= unicode.MaxASCII:
		return false
	}
	return e.endsBeyondASCII(r)
}

func anotherBegins(s string) bool {
	at := addressStart.FindStringIndex(s[:min(len(s), len("https://"))])
	return at != nil && at[0] == 0
}

// closes takes the bracket away that r closes; false when there is none.
func (e *addressEnd) closes(r rune) bool {
	n := len(e.open) - 1
	if n < 0 || strings.IndexRune("([{", e.open[n]) != strings.IndexRune(")]}", r) {
		return false
	}
	e.open = e.open[:n]
	return true
}

// endsBeyondASCII tells names in other scripts, which are parts of many addresses,
// from the sentence around them. In scripts without spaces nothing but what
// stands before tells: a name has a sign before it, or more of the script.
func (e *addressEnd) endsBeyondASCII(r rune) bool {
	if r == '·' {
		return false
	}
	if !unicode.In(r, unicode.L, unicode.M, unicode.N) {
		return true
	}
	if !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
		return false
	}
	return e.last <= unicode.MaxASCII && (unicode.IsLetter(e.last) || unicode.IsDigit(e.last))
}
