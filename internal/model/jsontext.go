package model

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote decodes a JSON string without mending it: raw bytes stay as they are
// and a lone half of a surrogate pair becomes the three bytes that UTF-8 would
// have for it, so that [joiner] can put cut characters together again (A07).
// encoding/json would turn both into U+FFFD.
func unquote(raw []byte) ([]byte, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			out = append(out, unescape(raw[i]))
			continue
		}
		unit, ok := hex4(raw[i+1:])
		if !ok {
			return nil, false
		}
		i += 4
		out = appendUnit(out, unit)
	}
	return out, true
}

// unescape is the byte that stands behind a backslash.
func unescape(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return b // a quote, a backslash, a slash
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// appendUnit appends a UTF-16 code unit. A low half right after a high one
// makes one character.
func appendUnit(out []byte, unit rune) []byte {
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit)
	}
	if high, ok := lastHigh(out); ok && isLow(unit) {
		return utf8.AppendRune(out[:len(out)-3], utf16.DecodeRune(high, unit))
	}
	return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F) //nolint:gosec // a UTF-16 code unit has 16 bits
}

func isLow(r rune) bool { return r >= 0xDC00 && r <= 0xDFFF }

// half decodes the three bytes of a lone half at the start of b.
func half(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xED || b[1] < 0xA0 || b[1] > 0xBF || b[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F), true
}

func lastHigh(b []byte) (rune, bool) {
	if len(b) < 3 {
		return 0, false
	}
	r, ok := half(b[len(b)-3:])
	return r, ok && !isLow(r)
}

// joiner puts text together that comes in pieces cut anywhere. What it returns
// is always valid UTF-8; bytes that never become a character are dropped.
type joiner struct {
	held []byte // an unfinished character
}

// push adds a piece and returns the characters that are complete.
func (j *joiner) push(piece []byte) string {
	if len(j.held) == 0 && utf8.Valid(piece) {
		return string(piece)
	}
	b := append(j.held, piece...)
	j.held = nil
	var out strings.Builder
	for len(b) > 0 {
		if unfinished(b) {
			j.held = bytes.Clone(b)
			break
		}
		if high, ok := half(b); ok {
			b = b[3:]
			if low, ok := half(b); ok && !isLow(high) && isLow(low) {
				out.WriteRune(utf16.DecodeRune(high, low))
				b = b[3:]
			}
			continue
		}
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size > 1 {
			out.Write(b[:size])
		}
		b = b[size:]
	}
	return out.String()
}

// unfinished reports whether all of b is the beginning of one character.
func unfinished(b []byte) bool {
	if b[0] != 0xED || len(b) == 1 || b[1] < 0xA0 {
		return !utf8.FullRune(b)
	}
	if len(b) < 3 {
		return true // two bytes of a half
	}
	high, ok := half(b)
	if !ok || isLow(high) {
		return false
	}
	rest := b[3:]
	switch len(rest) {
	case 0:
		return true
	case 1:
		return rest[0] == 0xED
	case 2:
		return rest[0] == 0xED && rest[1] >= 0xB0 && rest[1] <= 0xBF
	}
	return false
}

// looseString reads a string, a number or null; anything else is empty.
type looseString string

// UnmarshalJSON never fails.
func (s *looseString) UnmarshalJSON(raw []byte) error {
	*s = ""
	if text, ok := unquote(raw); ok {
		var j joiner
		*s = looseString(j.push(text))
		return nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		*s = looseString(n)
	}
	return nil
}

// looseInt reads a whole number, also written as a float or in quotes.
type looseInt struct {
	n   int
	set bool
}

// UnmarshalJSON never fails.
func (i *looseInt) UnmarshalJSON(raw []byte) error {
	*i = looseInt{}
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err == nil && f > -1e15 && f < 1e15 {
		*i = looseInt{n: int(f), set: true}
	}
	return nil
}

// isNull reports whether a value is absent or null.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}
