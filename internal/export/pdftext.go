package export

import (
	"slices"
	"strings"
	"unicode"

	"github.com/signintech/gopdf"
)

// run is text of one look.
type run struct {
	text         string
	bold, italic bool
	mono         bool
	link         string
	size         float64
	newline      bool // the line ends here
}

// piece is a part of a line that one font shows.
type piece struct {
	text   string
	family string
	size   float64
	link   string
	width  float64
	space  bool // it may be dropped at the end of a line
	glued  bool // no line ends before it
}

// box stands for a character that cannot be shown.
const box = '▯'

// family is the one that has a character in the look of a run; "" for none.
func (w *pdfWriter) family(r rune, look *run) string {
	want := regular
	switch {
	case look.mono:
		want = mono
	case look.bold:
		want = bold
	case look.italic:
		want = italic
	}
	if needsShaping(r) || isBeyond(r) {
		return ""
	}
	for _, family := range []string{want, regular} {
		if w.faces[family].has(r) {
			return family
		}
	}
	for _, f := range w.others {
		if f.has(r) {
			return f.family
		}
	}
	return ""
}

// pieces cuts runs where the font changes and where a line may end.
func (w *pdfWriter) pieces(runs []run) []piece {
	var out []piece
	for i := range runs {
		look := &runs[i]
		if look.newline {
			out = append(out, piece{text: "\n"})
			continue
		}
		begins := true
		for _, r := range look.text {
			switch {
			case r == '\u00a0': // it keeps its place
			case unicode.IsSpace(r):
				r = ' '
			case isBlank(r):
				continue
			}
			family := regular
			if r != ' ' {
				if family = w.family(r, look); family == "" {
					w.boxes[r]++
					r, family = box, regular
				}
			}
			begins = w.addRune(&out, r, family, look, begins)
		}
	}
	for i := range out {
		w.measure(&out[i])
	}
	return out
}

// addRune puts a character to the last piece, or begins one.
func (w *pdfWriter) addRune(out *[]piece, r rune, family string, look *run, begins bool) bool {
	wide := isWide(r)
	if n := len(*out); n > 0 && !begins && !wide && r != ' ' {
		last := &(*out)[n-1]
		if last.family == family && !last.space && !endsWide(last.text) {
			last.text += string(r)
			return false
		}
	}
	p := piece{text: string(r), family: family, size: look.size, link: look.link, space: r == ' '}
	if n := len(*out); n > 0 && !p.space {
		last := &(*out)[n-1]
		p.glued = !last.space && last.text != "\n" && (closes(r) || !wide && !endsWide(last.text))
	}
	*out = append(*out, p)
	return false
}

// isWide reports whether lines may end before and after a character.
func isWide(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7FF || r >= 0xF900 && r <= 0xFAFF || r >= 0xFE30 && r <= 0xFE4F ||
		r >= 0xFF00 && r <= 0xFFEF
}

func endsWide(s string) bool {
	runes := []rune(s)
	return len(runes) > 0 && isWide(runes[len(runes)-1])
}

// closes reports whether a character belongs to the one before it.
func closes(r rune) bool {
	return strings.ContainsRune("、。，．：；！？）」』】〕》〉”’…,.;:!?)]}", r)
}

func (w *pdfWriter) measure(p *piece) {
	if w.err != nil || p.text == "\n" {
		return
	}
	if w.err = w.pdf.SetFont(p.family, "", p.size); w.err == nil {
		p.width, w.err = w.pdf.MeasureTextWidth(p.text)
	}
}

// lines breaks pieces into lines of a width.
func (w *pdfWriter) lines(pieces []piece, width float64) [][]piece {
	b := breaker{width: width}
	for i := 0; i < len(pieces); {
		if pieces[i].text == "\n" {
			b.end()
			i++
			continue
		}
		j, unit := i+1, pieces[i].width
		for j < len(pieces) && pieces[j].glued {
			unit += pieces[j].width
			j++
		}
		if !pieces[i].space {
			b.reserve(unit)
		}
		for ; i < j; i++ {
			for _, part := range w.fit(pieces[i], width) {
				b.add(part)
			}
		}
	}
	if len(b.line) > 0 {
		b.end()
	}
	return b.lines
}

// breaker fills lines.
type breaker struct {
	width float64
	lines [][]piece
	line  []piece
	used  float64
}

// reserve begins a line when the last one has no room of a width.
func (b *breaker) reserve(width float64) {
	if b.used > 0 && b.used+width > b.width {
		b.end()
	}
}

// add puts a piece into the line. No line begins with a space.
func (b *breaker) add(p piece) {
	if p.space && b.used == 0 {
		return
	}
	if !p.space {
		b.reserve(p.width)
	}
	b.line = append(b.line, p)
	b.used += p.width
}

// end ends the line, without the spaces at its end.
func (b *breaker) end() {
	for len(b.line) > 0 && b.line[len(b.line)-1].space {
		b.line = b.line[:len(b.line)-1]
	}
	b.lines = append(b.lines, b.line)
	b.line, b.used = nil, 0
}

// fit cuts a piece that is wider than a whole line.
func (w *pdfWriter) fit(p piece, width float64) []piece {
	runes := []rune(p.text)
	if p.width <= width || len(runes) < 2 {
		return []piece{p}
	}
	n := max(1, int(float64(len(runes))*width/p.width*0.9))
	var parts []piece
	for chunk := range slices.Chunk(runes, n) {
		part := p
		part.text = string(chunk)
		w.measure(&part)
		parts = append(parts, part)
	}
	return parts
}

// flow sets runs as a paragraph.
func (w *pdfWriter) flow(runs []run, at block, size float64) {
	height := size * lineFactor
	for _, line := range w.lines(w.pieces(runs), w.width()-at.indent) {
		w.room(height)
		w.quoteBars(at, height)
		w.line(line, margin+at.indent, size)
		w.y += height
		if w.err != nil {
			return
		}
	}
}

// line sets pieces side by side at the height of the next line.
func (w *pdfWriter) line(pieces []piece, x, size float64) {
	baseline := w.y + size*1.1
	for _, p := range pieces {
		if p.link != "" {
			w.color(11, 87, 164)
		}
		w.draw(p, x, baseline)
		if p.link != "" {
			w.color(28, 28, 28)
			w.pdf.AddExternalLink(p.link, x, baseline-p.size, p.width, p.size*1.25)
		}
		x += p.width
	}
}

// quoteBars draws the lines beside a quotation.
func (w *pdfWriter) quoteBars(at block, height float64) {
	for i := range at.quote {
		w.pdf.SetFillColor(200, 200, 200)
		w.pdf.RectFromUpperLeftWithStyle(margin+at.indent-float64(at.quote-i)*12, w.y, 2, height, "F")
	}
}

// background colours the place of a line.
func (w *pdfWriter) background(at block, height float64) {
	w.pdf.SetFillColor(244, 244, 244)
	w.pdf.RectFromUpperLeftWithStyle(margin+at.indent-4, w.y, gopdf.PageSizeA4.W-2*margin-at.indent+8, height, "F")
}

// smallest are the first n of a list in order.
func smallest(list []string, n int) []string {
	slices.Sort(list)
	return list[:min(n, len(list))]
}
