package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text in which characters that look alike to a model are the same:
// full-width and small forms are ASCII, every dash is one, every blank one, and
// what cannot be seen is left out (N03).
type folded struct {
	from string // the original
	text string
	at   []int // the place of each byte in the original, nil when it is the same
}

// original is the place in the original text of a byte of the folded one, or of
// its end.
func (f *folded) original(i int) int {
	if f.at == nil {
		return i
	}
	return f.at[i]
}

// after is where the character of the original ends that byte i came from.
func (f *folded) after(i int) int {
	at := f.original(i)
	_, size := utf8.DecodeRuneInString(f.from[at:])
	return at + size
}

func fold(text string) folded {
	plain := true
	for _, r := range text {
		if r >= utf8.RuneSelf && foldRune(r) != r {
			plain = false
			break
		}
	}
	if plain {
		return folded{from: text, text: text}
	}
	var b strings.Builder
	b.Grow(len(text))
	at := make([]int, 0, len(text)+1)
	var size int
	for i := 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteByte(text[i])
			at = append(at, i)
			continue
		}
		if r = foldRune(r); r < 0 {
			continue
		}
		before := b.Len()
		b.WriteRune(r)
		for range b.Len() - before {
			at = append(at, i)
		}
	}
	return folded{from: text, text: b.String(), at: append(at, len(text))}
}

// alike are characters that look like others; those of whole classes are found
// by their class.
var alike = map[rune]rune{
	'﹤': '<', '﹥': '>', '∕': '/', '⁄': '/', '−': '-', '─': '-', '━': '-',
	'\u0085': '\n', '\u2028': '\n', '\u2029': '\n',
	'\u034F': -1, '\u115F': -1, '\u3164': -1, // they have no shape
}

// foldRune gives the character that r looks like; -1 for one that is not seen.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if other, ok := alike[r]; ok {
		return other
	}
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms of ASCII
		return r - 0xFF01 + '!'
	case unicode.Is(unicode.Pd, r):
		return '-'
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		return -1
	}
	return r
}
