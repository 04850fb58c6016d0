package export

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// block sets one block.
func (w *pdfWriter) block(n ast.Node, at block) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return
	}
	switch n := n.(type) {
	case *ast.Heading:
		w.heading(n, at)
	case *ast.Paragraph, *ast.TextBlock:
		w.flow(w.runs(n, run{size: bodySize}), at, bodySize)
		if !at.tight {
			w.y += 5
		}
	case *ast.List:
		w.list(n, at)
	case *ast.Blockquote:
		inner := at
		inner.quote++
		inner.indent += 14
		w.blocks(n, inner)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.code(n, at)
	case *ast.ThematicBreak:
		w.y += 6
		w.rule(at)
		w.y += 8
	case *east.Table:
		w.table(n, at)
	case *east.FootnoteList:
		w.footnotes(n, at)
	case *ast.HTMLBlock: // it is not shown
	default:
		w.blocks(n, at)
	}
}

func (w *pdfWriter) heading(n *ast.Heading, at block) {
	size := []float64{20, 16, 13.5, 12, 11, bodySize}[min(max(n.Level, 1), 6)-1]
	if w.y > margin {
		w.y += size * 0.7
	}
	w.room(size*lineFactor + 2*bodySize*lineFactor)
	w.flow(w.runs(n, run{size: size, bold: true}), at, size)
	w.y += 4
}

func (w *pdfWriter) rule(at block) {
	w.room(4)
	w.pdf.SetStrokeColor(200, 200, 200)
	w.pdf.SetLineWidth(0.7)
	w.pdf.Line(margin+at.indent, w.y, margin+w.width(), w.y)
}

func (w *pdfWriter) list(n *ast.List, at block) {
	inner := at
	inner.indent += 20
	inner.tight = n.IsTight
	number := n.Start
	for item := n.FirstChild(); item != nil && w.err == nil; item = item.NextSibling() {
		label := "•"
		if n.IsOrdered() {
			label = fmt.Sprintf("%d.", number)
			number++
		}
		w.labelled(label, item, at, inner)
	}
	if !at.tight {
		w.y += 4
	}
}

// labelled sets a block with a label before its first line.
func (w *pdfWriter) labelled(label string, n ast.Node, at, inner block) {
	w.room(bodySize * lineFactor)
	before, pages := w.y, w.pdf.GetNumberOfPages()
	w.draw(piece{text: label, family: regular, size: bodySize}, margin+at.indent+4, w.y+bodySize*1.1)
	w.blocks(n, inner)
	if w.y == before && w.pdf.GetNumberOfPages() == pages {
		w.y += bodySize * lineFactor // an empty item is one all the same
	}
}

func (w *pdfWriter) footnotes(n ast.Node, at block) {
	w.y += 6
	w.rule(at)
	w.y += 6
	inner := at
	inner.indent += 20
	inner.tight = true
	for item := n.FirstChild(); item != nil && w.err == nil; item = item.NextSibling() {
		if note, ok := item.(*east.Footnote); ok {
			w.labelled(fmt.Sprintf("%d.", note.Index), note, at, inner)
		}
	}
}

func (w *pdfWriter) code(n ast.Node, at block) {
	height := codeSize * lineFactor
	inner := at
	inner.indent += 4
	w.y += 2
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		text := strings.TrimRight(string(segment.Value(w.source)), "\r\n")
		text = strings.ReplaceAll(text, "\t", "    ")
		lines := w.lines(w.pieces([]run{{text: strings.ReplaceAll(text, " ", "\u00a0"), mono: true, size: codeSize}}), w.width()-inner.indent-4)
		if len(lines) == 0 {
			lines = [][]piece{nil}
		}
		for _, line := range lines {
			w.room(height)
			w.background(inner, height)
			w.line(line, margin+inner.indent, codeSize)
			w.y += height
		}
		if w.err != nil {
			return
		}
	}
	w.y += 7
}

// runs are the text of a node and what is in it.
func (w *pdfWriter) runs(parent ast.Node, look run) []run {
	var out []run
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, w.inline(n, look)...)
	}
	return out
}

func (w *pdfWriter) inline(n ast.Node, look run) []run {
	switch n := n.(type) {
	case *ast.Text:
		return w.words(n, look)
	case *ast.String:
		return look.saying(string(n.Value))
	case *ast.CodeSpan:
		look.mono = true
		return w.runs(n, look)
	case *ast.Emphasis:
		if n.Level > 1 {
			look.bold = true
		} else {
			look.italic = true
		}
		return w.runs(n, look)
	case *ast.Link:
		return w.link(n, look)
	case *ast.AutoLink:
		look.link = safeLink(string(n.URL(w.source)))
		return look.saying(string(n.Label(w.source)))
	case *ast.Image:
		alt := plainText(n, w.source)
		if alt == "" {
			alt = string(n.Destination)
		}
		return look.saying("[image: " + alt + "]")
	}
	return w.mark(n, look)
}

// saying is a text in the look of a run.
func (r run) saying(text string) []run {
	r.text = text
	return []run{r}
}

// words are the text of a node, with the end of a line where one is.
func (w *pdfWriter) words(n *ast.Text, look run) []run {
	value := n.Segment.Value(w.source)
	if !look.mono {
		value = readable(value)
	}
	out := look.saying(string(value))
	switch {
	case n.HardLineBreak():
		out = append(out, run{newline: true})
	case n.SoftLineBreak():
		out = append(out, look.saying(" ")...)
	}
	return out
}

// mark is the text of a node that is a sign rather than words.
func (w *pdfWriter) mark(n ast.Node, look run) []run {
	switch n := n.(type) {
	case *ast.RawHTML:
		if tag := string(n.Segments.Value(w.source)); strings.HasPrefix(strings.ToLower(tag), "<br") {
			return []run{{newline: true}}
		}
		return nil
	case *east.FootnoteLink:
		return look.saying(fmt.Sprintf("[%d]", n.Index))
	case *east.FootnoteBacklink:
		return nil
	case *east.TaskCheckBox:
		if n.IsChecked {
			return look.saying("☑ ")
		}
		return look.saying("☐ ")
	}
	return w.runs(n, look)
}

func (w *pdfWriter) link(n *ast.Link, look run) []run {
	look.link = safeLink(string(readable(n.Destination)))
	if !isCitation(n) {
		return w.runs(n, look)
	}
	look.size *= 0.85
	open, end := look, look
	open.text, end.text = " [", "]"
	return append(append([]run{open}, w.runs(n, look)...), end)
}

// plainText is the text of a node without its form.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(readable(t.Segment.Value(source)))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
