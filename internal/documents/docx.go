package documents

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// docx is a Word document that is being read.
type docx struct {
	ctx       context.Context //nolint:containedctx // it lives for one conversion
	a         *archive
	relations map[string]relation
	styles    wordStyles
	lists     *wordLists
	notes     map[string]*node // by mark, such as "1" and "e1"
	told      []string         // marks in the order of their first mention
	md        markdown
}

func readDocx(ctx context.Context, s source) (Document, error) {
	a, err := openArchive(s.r, s.size)
	if err != nil {
		return Document{}, err
	}
	main := a.mainPart()
	d := &docx{ctx: ctx, a: a, notes: map[string]*node{}}
	if d.relations, err = a.relations(main); err != nil {
		return Document{}, err
	}
	if err := d.readDefinitions(); err != nil {
		return Document{}, err
	}
	part, err := a.open(main)
	if err != nil {
		return Document{}, err
	}
	defer func() { _ = part.Close() }()
	if err := eachChild(part, "body", d.block); err != nil && !errors.Is(err, errFull) {
		return Document{}, err
	}
	d.writeNotes()
	return Document{Markdown: d.md.String()}, nil
}

// readDefinitions reads what the text refers to.
func (d *docx) readDefinitions() error {
	styles, err := d.a.tree(related(d.relations, "styles"))
	if err != nil {
		return fmt.Errorf("styles: %w", err)
	}
	d.styles = readWordStyles(styles)
	numbering, err := d.a.tree(related(d.relations, "numbering"))
	if err != nil {
		return fmt.Errorf("numbering: %w", err)
	}
	d.lists = readWordLists(numbering)
	for kind, prefix := range map[string]string{"footnotes": "", "endnotes": "e"} {
		root, err := d.a.tree(related(d.relations, kind))
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		for _, n := range root.children {
			if n.attr("type") == "" || n.attr("type") == "normal" { // the others are lines
				d.notes[prefix+n.attr("id")] = n
			}
		}
	}
	return nil
}

// block writes a paragraph, a table, or what is wrapped around them.
func (d *docx) block(n *node) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if err := d.md.full(); err != nil {
		return err
	}
	switch n.name {
	case "p":
		d.paragraph(n)
	case "tbl":
		d.md.table(d.table(n))
	case "sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo":
		for _, c := range n.children {
			if err := d.block(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *docx) paragraph(p *node) {
	text, boxes := d.inline(p)
	style := d.styles.of(p.at("pPr", "pStyle").attr("val"))
	level := style.level
	if own := p.at("pPr", "outlineLvl"); own.name != "" {
		if level = own.number("val", 9) + 1; level > 9 {
			level = 0
		}
	}
	list := style.list
	if own := p.at("pPr", "numPr"); own.name != "" {
		list = numberOf(own)
	}
	marker, depth := "", 0
	if strings.TrimSpace(text) != "" {
		marker, depth = d.lists.next(list)
	}
	switch {
	case level > 0:
		if marker != "" && marker != bullet {
			text = marker + " " + text
		}
		d.md.heading(level, strings.ReplaceAll(text, "**", ""))
	case marker == "":
		d.md.paragraph(text)
	default:
		if !plainNumber.MatchString(marker) && marker != bullet {
			marker, text = bullet, marker+" "+text
		}
		d.md.item(depth, marker, text)
	}
	for _, box := range boxes {
		for _, c := range box.children {
			_ = d.block(c) // only says that it is enough, as the next block will
		}
	}
}

// table is the text of the cells of a table. Cells that are joined with the one
// above or to the left are empty.
func (d *docx) table(tbl *node) [][]string {
	trs := flatten(tbl, "tr")
	rows := make([][]string, 0, len(trs))
	for _, tr := range trs {
		var row []string
		for _, tc := range flatten(tr, "tc") {
			text := d.cell(tc)
			if merge := tc.at("tcPr", "vMerge"); merge.name != "" && merge.attr("val") != "restart" {
				text = ""
			}
			row = append(row, text)
			for range min(tc.at("tcPr", "gridSpan").number("val", 1), maxColumns) - 1 {
				row = append(row, "")
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// flatten are the children of a name, also those in wrappers.
func flatten(n *node, name string) []*node {
	var list []*node
	for _, c := range n.children {
		switch c.name {
		case name:
			list = append(list, c)
		case "sdt", "sdtContent", "customXml", "ins":
			list = append(list, flatten(c, name)...)
		}
	}
	return list
}

// cell is the text of all paragraphs of a cell; a table in it is one line a row.
func (d *docx) cell(tc *node) string {
	var lines []string
	for _, c := range tc.children {
		switch c.name {
		case "p":
			text, _ := d.inline(c)
			if marker, _ := d.lists.next(numberOf(c.at("pPr", "numPr"))); marker != "" && text != "" {
				text = marker + " " + text
			}
			lines = append(lines, text)
		case "tbl":
			for _, row := range d.table(c) {
				lines = append(lines, strings.Join(row, " / "))
			}
		case "sdt":
			lines = append(lines, d.cell(c.child("sdtContent")))
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// writeNotes writes the notes that were mentioned, those of notes too.
func (d *docx) writeNotes() {
	for i := 0; i < len(d.told) && d.md.full() == nil; i++ {
		note := d.notes[d.told[i]]
		d.md.block("[^" + d.told[i] + "]: " + oneLine(d.cell(note)))
	}
}

// mention is the mark of a note in the text.
func (d *docx) mention(mark string) string {
	if d.notes[mark] == nil {
		return ""
	}
	known := false
	for _, m := range d.told {
		known = known || m == mark
	}
	if !known && len(d.told) < 10_000 {
		d.told = append(d.told, mark)
	}
	return "[^" + mark + "]"
}

// wordStyle is what matters of a style of paragraphs.
type wordStyle struct {
	level int // of a heading, 0 for none
	list  wordNumber
}

type wordStyles struct {
	byID map[string]*node
}

func readWordStyles(root *node) wordStyles {
	s := wordStyles{byID: map[string]*node{}}
	for _, n := range root.all("style") {
		s.byID[n.attr("styleId")] = n
	}
	return s
}

// of follows a style to those that it is based on.
func (s wordStyles) of(id string) wordStyle {
	var out wordStyle
	for range 20 {
		n := s.byID[id]
		if n == nil {
			break
		}
		if out.level == 0 {
			out.level = headingLevel(n)
		}
		if out.list.id == "" {
			out.list = numberOf(n.at("pPr", "numPr"))
		}
		id = n.child("basedOn").attr("val")
	}
	return out
}

// headingLevel goes by the name of the style, which is English in all languages,
// or by its place in the outline.
func headingLevel(style *node) int {
	name := strings.ToLower(style.child("name").attr("val"))
	if rest, ok := strings.CutPrefix(name, "heading "); ok {
		if level, err := strconv.Atoi(rest); err == nil && level >= 1 && level <= 9 {
			return level
		}
	}
	if name == "title" {
		return 1
	}
	if level := style.at("pPr", "outlineLvl").number("val", 9); level >= 0 && level < 9 {
		return level + 1
	}
	return 0
}
