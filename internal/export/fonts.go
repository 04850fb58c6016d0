package export

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/flopp/go-findfont"
	"github.com/go-fonts/dejavu/dejavusans"
	"github.com/go-fonts/dejavu/dejavusansbold"
	"github.com/go-fonts/dejavu/dejavusansmono"
	"github.com/go-fonts/dejavu/dejavusansoblique"
	"golang.org/x/image/font/sfnt"
)

// face is a font, with the characters that it has.
type face struct {
	family string
	data   []byte
	font   *sfnt.Font
	buffer sfnt.Buffer
	known  map[rune]bool
}

func newFace(family string, data []byte) (*face, error) {
	font, err := sfnt.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("font %s: %w", family, err)
	}
	return &face{family: family, data: data, font: font, known: map[rune]bool{}}, nil
}

// has reports whether the font has a character.
func (f *face) has(r rune) bool {
	has, ok := f.known[r]
	if !ok {
		i, err := f.font.GlyphIndex(&f.buffer, r)
		has = err == nil && i != 0
		f.known[r] = has
	}
	return has
}

// The families that are always there.
const (
	regular = "regular"
	bold    = "bold"
	italic  = "italic"
	mono    = "mono"
)

// ownFaces are the fonts of this program.
func ownFaces() (map[string]*face, error) {
	faces := map[string]*face{}
	for family, data := range map[string][]byte{
		regular: dejavusans.TTF, bold: dejavusansbold.TTF, italic: dejavusansoblique.TTF, mono: dejavusansmono.TTF,
	} {
		f, err := newFace(family, data)
		if err != nil {
			return nil, err
		}
		faces[family] = f
	}
	return faces, nil
}

// Bounds of looking for fonts.
const (
	maxFontFile  = 64 << 20 // bytes
	maxFontsRead = 24
	maxFallbacks = 4 // fonts in one document beside the own ones
)

// installed are the fonts of this machine, those first that have many scripts.
var installed = sync.OnceValue(func() []string {
	files := slices.DeleteFunc(findfont.List(), func(file string) bool {
		ext := strings.ToLower(filepath.Ext(file))
		return ext != ".ttf" && ext != ".ttc" || strings.Contains(strings.ToLower(file), "dejavu")
	})
	rank := func(file string) int {
		name := strings.ToLower(filepath.Base(file))
		for i, part := range []string{
			"notosanscjk", "sourcehansans", "droidsansfallback", "wqy", "msyh", "simhei", "simsun", "arial unicode", "arialuni", "uming", "ukai",
			"ipa", "takao", "vlgothic", "nanum", "unbatang", "malgun", "meiryo", "stheiti", "hiragino", "freesans", "symbola", "unifont",
		} {
			if strings.Contains(name, part) {
				return i
			}
		}
		return 100
	}
	slices.SortStableFunc(files, func(a, b string) int {
		if n := rank(a) - rank(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return files
})

// fallbacks are fonts that have characters which the own ones lack: of the named
// files, then of this machine. missing is emptied of what they have. bad says
// which of the named files cannot be used, and why.
func fallbacks(files []string, missing map[rune]bool) (found []*face, bad []error) {
	for i, file := range slices.Concat(files, installed()) {
		if len(missing) == 0 || len(found) == maxFallbacks || i == maxFontsRead {
			break
		}
		data, err := readFont(file)
		var f *face
		if err == nil {
			f, err = newFace(fmt.Sprintf("fallback%d", len(found)), data)
		}
		if err != nil {
			if i < len(files) {
				bad = append(bad, fmt.Errorf("%s: %w", file, err))
			}
			continue
		}
		before := len(missing)
		maps.DeleteFunc(missing, func(r rune, _ bool) bool { return f.has(r) })
		if len(missing) < before {
			found = append(found, f)
		}
	}
	return found, bad
}

var errFont = errors.New("it is no TrueType font that can be embedded")

// readFont reads a TrueType font that stands in a file, of a collection the first.
func readFont(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFontFile {
		return nil, errFont
	}
	data, err := os.ReadFile(file) //nolint:gosec // a font of this machine, or one that the operator names
	if err != nil {
		return nil, err
	}
	return trueType(data)
}
