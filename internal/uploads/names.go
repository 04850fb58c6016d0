package uploads

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// maxName is the length of a file name in bytes that every file system takes.
const maxName = 255

// maxExtension is what still counts as an extension that is worth keeping.
const maxExtension = 32

// CleanName makes a file name out of what a client calls its file: the last
// part of a path, without characters that no name should have, at most 255
// bytes long with its extension kept. It is as given otherwise, in whatever
// Unicode form. It is empty when nothing usable is left.
func CleanName(raw string) string {
	name := RepairEncoding(raw)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if strings.Contains(name, `\`) {
		return "" // a path to some programs, a character to others
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || isBidi(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if name == "." || name == ".." {
		return ""
	}
	if isStaging(name) {
		name = "_" + name
	}
	return shorten(name, "")
}

// isBidi tells the characters that turn text around: they make a name look like
// another one.
func isBidi(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' || r == '\u200E' || r == '\u200F' || r == '\uFEFF'
}

// RepairEncoding undoes what clients do to names beyond ASCII: UTF-8 that was
// taken for Latin-1 and encoded again, and plain Latin-1 (I05).
func RepairEncoding(name string) string {
	if !utf8.ValidString(name) {
		runes := make([]rune, 0, len(name))
		for i := range len(name) {
			runes = append(runes, rune(name[i]))
		}
		return string(runes)
	}
	var bytes []byte
	wide := false
	for _, r := range name {
		if r > 0xFF {
			return name
		}
		wide = wide || r >= 0x80
		bytes = append(bytes, byte(r&0xFF))
	}
	if wide && utf8.Valid(bytes) {
		return string(bytes)
	}
	return name
}

// splitName cuts a name into stem and extension, the dot with the latter.
func splitName(name string) (stem, ext string) {
	ext = path.Ext(name)
	if ext == name || len(ext) > maxExtension {
		ext = ""
	}
	return strings.TrimSuffix(name, ext), ext
}

// shorten puts a mark between stem and extension and cuts the stem, at the edge
// of a character, until all fits.
func shorten(name, mark string) string {
	stem, ext := splitName(name)
	room := maxName - len(ext) - len(mark)
	for len(stem) > room {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return stem + mark + ext
}

// numbered is the n-th name to try for a file: the name itself, then name_1,
// name_2, ...
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	return shorten(name, "_"+strconv.Itoa(n))
}

// SameName is the form in which names are compared: two names that look alike
// are one file to a person (I04).
func SameName(name string) string { return norm.NFC.String(name) }

const (
	stagingPrefix = ".upload-"
	stagingSuffix = ".part"
)

// StagingName is a new name for a file that is being written: nobody lists it.
func StagingName() string { return stagingPrefix + uuid.NewString() + stagingSuffix }

// isStaging tells the names of uploads that are not complete yet.
func isStaging(name string) bool {
	return strings.HasPrefix(name, stagingPrefix) && strings.HasSuffix(name, stagingSuffix)
}
