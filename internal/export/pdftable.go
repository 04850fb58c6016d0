package export

import east "github.com/yuin/goldmark/extension/ast"

// The look of tables, in points.
const (
	cellSize    = 9.0
	cellPadding = 4.0
	minColumn   = 36.0
)

// table sets a table over the width of the page. A row stands on one page; one
// that is longer than a page is set as paragraphs.
func (w *pdfWriter) table(n *east.Table, at block) {
	var rows [][][]piece // by row and cell
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, head := row.(*east.TableHeader)
		var cells [][]piece
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.pieces(w.runs(cell, run{size: cellSize, bold: head})))
		}
		rows = append(rows, cells)
	}
	widths := columns(rows, w.width()-at.indent)
	w.y += 3
	for _, cells := range rows {
		w.row(cells, widths, at)
	}
	w.y += 8
}

// columns shares a width between the columns by what stands in them.
func columns(rows [][][]piece, total float64) []float64 {
	var wants []float64
	for _, cells := range rows {
		for i, cell := range cells {
			want := 2 * cellPadding
			for _, p := range cell {
				want += p.width
			}
			if i == len(wants) {
				wants = append(wants, 0)
			}
			wants[i] = max(wants[i], min(want, total/2), minColumn)
		}
	}
	sum := 0.0
	for _, want := range wants {
		sum += want
	}
	for i := range wants {
		wants[i] *= total / sum
	}
	return wants
}

// row sets one row with its frame.
func (w *pdfWriter) row(cells [][]piece, widths []float64, at block) {
	line := cellSize * lineFactor
	set := make([][][]piece, len(cells))
	tallest := 1
	for i, cell := range cells {
		set[i] = w.lines(cell, max(widths[i]-2*cellPadding, 10))
		tallest = max(tallest, len(set[i]))
	}
	height := float64(tallest)*line + 2*cellPadding
	if height > w.bottom()-margin {
		w.longRow(cells, at)
		return
	}
	w.room(height)
	top, x := w.y, margin+at.indent
	w.pdf.SetStrokeColor(200, 200, 200)
	w.pdf.SetLineWidth(0.6)
	for i := range set {
		w.pdf.RectFromUpperLeft(x, top, widths[i], height)
		w.y = top + cellPadding
		for _, l := range set[i] {
			w.line(l, x+cellPadding, cellSize)
			w.y += line
		}
		x += widths[i]
	}
	w.y = top + height
}

// longRow sets the cells of a row below each other.
func (w *pdfWriter) longRow(cells [][]piece, at block) {
	for _, cell := range cells {
		for _, l := range w.lines(cell, w.width()-at.indent) {
			w.room(cellSize * lineFactor)
			w.line(l, margin+at.indent, cellSize)
			w.y += cellSize * lineFactor
		}
		w.y += cellPadding
	}
}
