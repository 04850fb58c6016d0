package export

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/signintech/gopdf"
	"github.com/yuin/goldmark/ast"

	"deerflow/internal/evidence"
)

// maxPages bounds a PDF.
const maxPages = 400

// PDF is a document for printing.
type PDF struct {
	Data  []byte
	Pages int
	// Missing counts the characters that no font has, whose script is not laid out,
	// or that are beyond U+FFFF; a box stands for each. Examples are some of them.
	Missing  int
	Examples string
	// BadFonts says which of the fonts that were named cannot be used, as far as they
	// were wanted.
	BadFonts []error
}

// PDF writes the document as a PDF. fonts are files of TrueType fonts for
// characters that the fonts of this program lack; those of this machine come
// after them.
func (r *Report) PDF(ctx context.Context, fonts []string) (out PDF, err error) {
	source := []byte(evidence.Tame(r.Text(), maxBlock))
	if len(source) > MaxMarkdown {
		return PDF{}, ErrTooLong
	}
	defer func() {
		if v := recover(); v != nil { // a font that the library cannot read
			err = fmt.Errorf("write the PDF: %v", v)
		}
	}()
	faces, err := ownFaces()
	if err != nil {
		return PDF{}, err
	}
	w := &pdfWriter{ctx: ctx, report: r, source: source, faces: faces, boxes: map[rune]int{}}
	var bad []error
	w.others, bad = fallbacks(fonts, w.lacking(string(source)+r.Title))
	if err := w.begin(); err != nil {
		return PDF{}, err
	}
	w.title()
	w.blocks(parse(source), block{})
	w.missing()
	if w.err != nil {
		return PDF{}, fmt.Errorf("write the PDF: %w", w.err)
	}
	var buf bytes.Buffer
	if _, err := w.pdf.WriteTo(&buf); err != nil {
		return PDF{}, fmt.Errorf("write the PDF: %w", err)
	}
	out = PDF{Data: buf.Bytes(), Pages: w.pdf.GetNumberOfPages(), BadFonts: bad}
	out.Missing, out.Examples = w.boxed()
	return out, nil
}

// The page, in points.
const (
	margin     = 56.0
	footRoom   = 28.0
	bodySize   = 10.5
	codeSize   = 9.0
	lineFactor = 1.45
)

// pdfWriter lays a document out on pages.
type pdfWriter struct {
	ctx    context.Context //nolint:containedctx // it lives for one document
	report *Report
	source []byte
	pdf    gopdf.GoPdf
	faces  map[string]*face
	others []*face
	y      float64 // of the next line's top
	boxes  map[rune]int
	err    error // the first; nothing is drawn after it
}

// lacking are the characters of a text that the own fonts do not have, and that
// another one could show.
func (w *pdfWriter) lacking(text string) map[rune]bool {
	missing := map[rune]bool{}
	for _, r := range text {
		if !isBlank(r) && !needsShaping(r) && !isBeyond(r) && !w.faces[regular].has(r) {
			missing[r] = true
		}
	}
	return missing
}

// isBlank reports whether a character shows nothing.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) && r >= 0xFE00 && r <= 0xFE0F
}

// needsShaping reports whether a character belongs to a script whose letters
// change with their neighbours, or that runs from right to left: to set them one
// after the other would show something else.
func needsShaping(r rune) bool {
	return r >= 0x0590 && unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Thai, unicode.Lao, unicode.Tibetan, unicode.Myanmar, unicode.Khmer, unicode.Mongolian)
}

// isBeyond reports whether a character is beyond those that the text of a PDF can
// name here: gopdf writes their codes in four digits, so that whoever searches or
// copies the text would get another one.
func isBeyond(r rune) bool { return r > 0xFFFF }

// named is a text with boxes for what no PDF of ours can name.
func named(s string) string {
	return strings.Map(func(r rune) rune {
		if isBeyond(r) {
			return box
		}
		return r
	}, s)
}

func (w *pdfWriter) begin() error {
	w.pdf.Start(gopdf.Config{PageSize: *gopdf.PageSizeA4})
	for _, family := range []string{regular, bold, italic, mono} {
		if err := w.pdf.AddTTFFontData(family, w.faces[family].data); err != nil {
			return fmt.Errorf("font %s: %w", family, err)
		}
	}
	for _, f := range w.others {
		if err := w.pdf.AddTTFFontData(f.family, f.data); err != nil {
			return fmt.Errorf("font %s: %w", f.family, err)
		}
	}
	w.pdf.SetInfo(gopdf.PdfInfo{Title: named(w.report.Title), Creator: "DeerFlow"})
	w.newPage()
	return w.err
}

func (w *pdfWriter) width() float64  { return gopdf.PageSizeA4.W - 2*margin }
func (w *pdfWriter) bottom() float64 { return gopdf.PageSizeA4.H - margin - footRoom }

// newPage begins a page with its number.
func (w *pdfWriter) newPage() {
	if w.err != nil {
		return
	}
	if w.pdf.GetNumberOfPages() == maxPages {
		w.err = ErrTooLong
		return
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return
	}
	w.pdf.AddPage()
	w.y = margin
	number := strconv.Itoa(w.pdf.GetNumberOfPages())
	w.color(120, 120, 120)
	w.draw(piece{text: number, family: regular, size: 8}, gopdf.PageSizeA4.W/2-6, gopdf.PageSizeA4.H-margin+8)
	w.color(28, 28, 28)
}

// room begins a page when fewer than n points are left on this one.
func (w *pdfWriter) room(n float64) {
	if w.y+n > w.bottom() && w.y > margin {
		w.newPage()
	}
}

func (w *pdfWriter) color(r, g, b uint8) { w.pdf.SetTextColor(r, g, b) }

// draw sets a piece of text with its baseline at a place.
func (w *pdfWriter) draw(p piece, x, baseline float64) {
	if w.err != nil {
		return
	}
	if w.err = w.pdf.SetFont(p.family, "", p.size); w.err != nil {
		return
	}
	w.pdf.SetXY(x, baseline)
	w.err = w.pdf.Text(p.text)
}

// title sets the title of the report, unless the document begins with one.
func (w *pdfWriter) title() {
	title := w.report.Title
	if title == "" || strings.HasPrefix(strings.TrimSpace(w.report.Markdown), "# ") {
		return
	}
	w.flow([]run{{text: title, bold: true, size: 20}}, block{}, 20)
	w.y += 8
}

// missing says on the page itself what it could not show.
func (w *pdfWriter) missing() {
	n, examples := w.boxed()
	if n == 0 {
		return
	}
	w.y += 14
	text := fmt.Sprintf("%d characters of this document (%s) cannot be shown here; a box stands for each. Export it as HTML to read them.", n, examples)
	if n == 1 {
		text = fmt.Sprintf("1 character of this document (%s) cannot be shown here; a box stands for it. Export it as HTML to read it.", examples)
	}
	w.flow([]run{{italic: true, size: 8.5, text: text}}, block{}, 8.5)
}

// boxed counts the characters that boxes stand for, and names some by their code.
func (w *pdfWriter) boxed() (n int, examples string) {
	codes := make([]string, 0, len(w.boxes))
	for r, times := range w.boxes {
		n += times
		codes = append(codes, fmt.Sprintf("U+%04X", r))
	}
	return n, strings.Join(smallest(codes, 8), " ")
}

// block is where the lines of a block stand.
type block struct {
	indent float64
	quote  int // how deep in quotations
	tight  bool
}

// blocks sets the children of a node, one below the other.
func (w *pdfWriter) blocks(parent ast.Node, at block) {
	for n := parent.FirstChild(); n != nil && w.err == nil; n = n.NextSibling() {
		w.block(n, at)
	}
}
