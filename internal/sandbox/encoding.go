package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// sniffSize is how many bytes decide what a file is.
const sniffSize = 64 << 10

// charset is how a text file is encoded.
type charset struct {
	name  string
	codec encoding.Encoding
}

// sniff tells the encoding of a file from its first bytes, or what kind of
// binary file it is (I11). whole: head is the whole file.
func sniff(head []byte, whole bool) (charset, string) {
	switch {
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		return charset{"UTF-8 with BOM", unicode.UTF8BOM}, ""
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return charset{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)}, ""
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return charset{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)}, ""
	}
	if kind := magic(head); kind != "" {
		return charset{}, kind
	}
	if bytes.IndexByte(head, 0) >= 0 {
		if c, ok := bareUTF16(head); ok {
			return c, ""
		}
		return charset{}, "binary data"
	}
	if !whole {
		head = wholeRunes(head)
	}
	switch {
	case utf8.Valid(head):
		return charset{"UTF-8", unicode.UTF8}, ""
	case looksGBK(head):
		return charset{"GB18030", simplifiedchinese.GB18030}, ""
	case controls(head) > len(head)/20:
		return charset{}, "binary data"
	}
	return charset{"UTF-8", unicode.UTF8}, ""
}

// magic names binary formats that may have no NUL in their first bytes, and
// others so that the hint is a good one.
func magic(head []byte) string {
	for _, m := range []struct{ prefix, kind string }{
		{"\x89PNG\r\n\x1a\n", "PNG image"},
		{"\xff\xd8\xff", "JPEG image"},
		{"GIF87a", "GIF image"},
		{"GIF89a", "GIF image"},
		{"%PDF-", "PDF document"},
		{"PK\x03\x04", "ZIP archive or Office document"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"},
		{"\x1f\x8b\x08", "gzip archive"},
		{"7z\xbc\xaf\x27\x1c", "7z archive"},
		{"Rar!\x1a\x07", "RAR archive"},
		{"SQLite format 3\x00", "SQLite database"},
		{"\x7fELF", "executable"},
	} {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.kind
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "WebP image"
	}
	return ""
}

// bareUTF16 recognises UTF-16 without a byte order mark: mostly Latin text, so
// that every other byte is zero.
func bareUTF16(head []byte) (charset, bool) {
	var zero [2]int
	for i, b := range head {
		if b == 0 {
			zero[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case half < 2:
		return charset{}, false
	case zero[1] > half*9/10 && zero[0] == 0:
		return charset{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}, true
	case zero[0] > half*9/10 && zero[1] == 0:
		return charset{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}, true
	}
	return charset{}, false
}

// looksGBK reports whether the bytes above ASCII come in the pairs of Chinese
// text. A few stray bytes in Latin text do not.
func looksGBK(head []byte) bool {
	high, paired := 0, 0
	for i := 0; i < len(head); i++ {
		if head[i] < 0x80 {
			continue
		}
		high++
		if i+1 < len(head) && head[i] >= 0xA1 && head[i] <= 0xF7 && head[i+1] >= 0xA1 && head[i+1] != 0xFF {
			high++
			paired += 2
			i++
		}
	}
	return paired >= 4 && paired*10 >= high*8
}

func controls(head []byte) int {
	n := 0
	for _, b := range head {
		if b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b || b == 0x7f {
			n++
		}
	}
	return n
}

// wholeRunes cuts off a character that the sniffed part ends in the middle of.
func wholeRunes(head []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(head); back++ {
		at := len(head) - back
		if utf8.RuneStart(head[at]) {
			if !utf8.FullRune(head[at:]) {
				return head[:at]
			}
			break
		}
	}
	return head
}

// reader decodes to UTF-8. UTF-8 itself passes as it is, since nearly every file
// is that; what is shown of it goes through validText.
func (c charset) reader(r io.Reader) io.Reader {
	if c.plain() {
		return r
	}
	return c.codec.NewDecoder().Reader(r)
}

// validText puts U+FFFD in place of every byte that is no UTF-8.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// text decodes a whole file for an edit. Bytes that are no valid UTF-8 stay as
// they are, so that an edit elsewhere does not lose them.
func (c charset) text(data []byte) ([]byte, error) {
	if c.plain() {
		return data, nil
	}
	text, err := c.codec.NewDecoder().Bytes(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", c.name, err)
	}
	if back, err := c.bytes(text); err != nil || !bytes.Equal(back, data) {
		return nil, fmt.Errorf("the file is not clean %s, so it cannot be edited without loss", c.name)
	}
	return text, nil
}

// bytes encodes an edited text as the file was.
func (c charset) bytes(text []byte) ([]byte, error) {
	if c.plain() {
		return text, nil
	}
	data, err := c.codec.NewEncoder().Bytes(text)
	if err != nil {
		return nil, fmt.Errorf("encode as %s: %w", c.name, err)
	}
	return data, nil
}

func (c charset) plain() bool { return c.codec == unicode.UTF8 }
