package documents

import "strings"

// span is text of one look.
type span struct {
	text         string
	bold, italic bool
}

// inline is the text of a paragraph, and the text boxes that hang on it.
func (d *docx) inline(p *node) (string, []*node) {
	w := inlineWriter{d: d}
	w.children(p)
	return w.String(), w.boxes
}

type inlineWriter struct {
	d     *docx
	spans []span
	boxes []*node
}

func (w *inlineWriter) children(n *node) {
	for _, c := range n.children {
		w.element(c)
	}
}

func (w *inlineWriter) element(n *node) {
	switch n.name {
	case "r":
		w.run(n)
	case "hyperlink":
		w.link(n)
	case "ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "fldSimple", "dir", "bdo":
		w.children(n)
	case "oMath", "oMathPara":
		w.add(span{text: mathText(n)})
	}
}

// link writes a link to an address outside; one within the document is text.
func (w *inlineWriter) link(n *node) {
	inner := inlineWriter{d: w.d}
	inner.children(n)
	w.boxes = append(w.boxes, inner.boxes...)
	text := inner.String()
	target := w.d.relations[n.attr("id")]
	if target.external && text != "" {
		text = mdLink(text, target.target)
	}
	w.add(span{text: text})
}

// mdLink is a link; an address that Markdown or a reader would stumble over is
// left out.
func mdLink(text, address string) string {
	if address == text {
		return text
	}
	if strings.ContainsAny(address, " ()<>\n\r\t") || len(address) > 2000 || !strings.Contains(address, ":") {
		return text
	}
	return "[" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text) + "](" + address + ")"
}

func (w *inlineWriter) run(r *node) {
	look := span{bold: on(r.at("rPr", "b")), italic: on(r.at("rPr", "i"))}
	if on(r.at("rPr", "vanish")) {
		return
	}
	for _, c := range r.children {
		w.piece(c, look)
	}
}

// piece writes one element of a run.
func (w *inlineWriter) piece(c *node, look span) {
	switch c.name {
	case "t":
		look.text = c.text
	case "tab", "ptab":
		look.text = "\t"
	case "br", "cr":
		look.text = "\n"
	case "noBreakHyphen":
		look.text = "-"
	case "footnoteReference":
		look.text = w.d.mention(c.attr("id"))
	case "endnoteReference":
		look.text = w.d.mention("e" + c.attr("id"))
	case "drawing", "pict", "object":
		w.picture(c)
	case "AlternateContent": // the same twice, for programs of different age
		if choice := c.child("Choice"); choice.name != "" {
			w.picture(choice)
		} else {
			w.picture(c.child("Fallback"))
		}
	}
	if look.text != "" {
		w.add(look)
	}
}

// picture writes what is said of a picture, and keeps the text in it.
func (w *inlineWriter) picture(n *node) {
	if box := n.find("txbxContent"); box.name != "" {
		w.boxes = append(w.boxes, box)
		return
	}
	if alt := oneLine(n.find("docPr").attr("descr")); alt != "" {
		w.add(span{text: "[image: " + alt + "]"})
	}
}

func (w *inlineWriter) add(s span) {
	if last := len(w.spans) - 1; last >= 0 && w.spans[last].bold == s.bold && w.spans[last].italic == s.italic {
		w.spans[last].text += s.text
		return
	}
	w.spans = append(w.spans, s)
}

// String marks what is bold or italic. Spaces stay outside of the marks.
func (w *inlineWriter) String() string {
	var b strings.Builder
	for _, s := range w.spans {
		mark := ""
		switch {
		case s.bold && s.italic:
			mark = "***"
		case s.bold:
			mark = "**"
		case s.italic:
			mark = "*"
		}
		inner := strings.TrimSpace(s.text)
		if mark == "" || inner == "" || strings.ContainsAny(inner, "*\n") {
			b.WriteString(s.text)
			continue
		}
		before, after, _ := strings.Cut(s.text, inner)
		b.WriteString(before + mark + inner + mark + after)
	}
	return b.String()
}

// on reads a switch, which is on when it is there and not switched off.
func on(n *node) bool {
	switch n.attr("val") {
	case "0", "false", "off", "none":
		return false
	}
	return n.name != ""
}

// mathText is a formula as a line of text.
func mathText(n *node) string {
	switch n.name {
	case "t":
		return n.text
	case "f":
		return "(" + mathText(n.child("num")) + ")/(" + mathText(n.child("den")) + ")"
	case "sSup":
		return mathText(n.child("e")) + "^" + mathText(n.child("sup"))
	case "sSub":
		return mathText(n.child("e")) + "_" + mathText(n.child("sub"))
	}
	var b strings.Builder
	for _, c := range n.children {
		b.WriteString(mathText(c))
	}
	return b.String()
}
