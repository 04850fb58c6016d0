package documents

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

func readPptx(ctx context.Context, s source) (Document, error) {
	a, err := openArchive(s.r, s.size)
	if err != nil {
		return Document{}, err
	}
	main := a.mainPart()
	root, err := a.tree(main)
	if err != nil {
		return Document{}, err
	}
	relations, err := a.relations(main)
	if err != nil {
		return Document{}, err
	}
	slides := root.child("sldIdLst").all("sldId")
	doc := Document{Pages: len(slides)}
	var md markdown
	for i, id := range slides {
		if err := ctx.Err(); err != nil {
			return Document{}, err
		}
		if i == maxPages || md.full() != nil {
			doc.warn(fmt.Sprintf("Only the first %d of %d slides were read.", i, len(slides)))
			break
		}
		target := relations[relationID(id)]
		if target.kind != "slide" {
			continue
		}
		if err := (&slide{a: a, md: &md, number: i + 1, part: target.target}).write(); err != nil {
			return Document{}, fmt.Errorf("slide %d: %w", i+1, err)
		}
	}
	doc.Markdown = md.String()
	return doc, nil
}

// relationID is the id that leads to a part; the element has one of its own
// beside it, without a namespace.
func relationID(n *node) string {
	for _, a := range n.attrs {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// slide is one of a presentation.
type slide struct {
	a         *archive
	md        *markdown
	number    int
	part      string
	relations map[string]relation
}

func (s *slide) write() error {
	root, err := s.a.tree(s.part)
	if err != nil {
		return err
	}
	if s.relations, err = s.a.relations(s.part); err != nil {
		return err
	}
	tree := root.at("cSld", "spTree")
	heading := fmt.Sprintf("Slide %d", s.number)
	if title := slideTitle(tree); title != "" {
		heading += ": " + title
	}
	if root.attr("show") == "0" {
		heading += " (hidden)"
	}
	s.md.heading(2, heading)
	s.shapes(tree)
	return s.notes()
}

func placeholder(sp *node) string {
	ph := sp.at("nvSpPr", "nvPr", "ph")
	if ph.name == "" {
		return ""
	}
	return cmp.Or(ph.attr("type"), "body")
}

func isTitle(sp *node) bool {
	kind := placeholder(sp)
	return kind == "title" || kind == "ctrTitle"
}

func slideTitle(tree *node) string {
	for _, sp := range tree.all("sp") {
		if isTitle(sp) {
			title := sp.child("txBody").all("p")
			parts := make([]string, 0, len(title))
			for _, p := range title {
				parts = append(parts, slideText(p, nil))
			}
			return oneLine(strings.Join(parts, " "))
		}
	}
	return ""
}

// shapes writes what stands on the slide, in the order of its shapes.
func (s *slide) shapes(tree *node) {
	for _, n := range tree.children {
		switch n.name {
		case "sp":
			if kind := placeholder(n); !isTitle(n) && kind != "sldNum" && kind != "dt" && kind != "ftr" {
				s.text(n.child("txBody"), placeholder(n) == "body")
			}
		case "grpSp":
			s.shapes(n)
		case "graphicFrame":
			if tbl := n.find("tbl"); tbl.name != "" {
				s.md.table(s.table(tbl))
			}
		case "pic":
			if alt := oneLine(n.at("nvPicPr", "cNvPr").attr("descr")); alt != "" {
				s.md.paragraph("[image: " + alt + "]")
			}
		}
	}
}

// text writes paragraphs; those of a body are a list unless they say otherwise.
func (s *slide) text(body *node, listed bool) {
	for _, p := range body.all("p") {
		text := slideText(p, s.relations)
		pr := p.child("pPr")
		switch {
		case strings.TrimSpace(text) == "":
		case pr.has("buAutoNum"):
			s.md.item(pr.number("lvl", 0), "1.", text)
		case pr.has("buChar"), listed && !pr.has("buNone"):
			s.md.item(pr.number("lvl", 0), bullet, text)
		default:
			s.md.paragraph(text)
		}
	}
}

func (s *slide) table(tbl *node) [][]string {
	trs := tbl.all("tr")
	rows := make([][]string, 0, len(trs))
	for _, tr := range trs {
		tcs := tr.all("tc")
		row := make([]string, 0, len(tcs))
		for _, tc := range tcs {
			paragraphs := tc.child("txBody").all("p")
			lines := make([]string, 0, len(paragraphs))
			for _, p := range paragraphs {
				lines = append(lines, slideText(p, s.relations))
			}
			row = append(row, strings.Join(lines, "\n"))
		}
		rows = append(rows, row)
	}
	return rows
}

// notes writes what the speaker wants to say.
func (s *slide) notes() error {
	part := related(s.relations, "notesSlide")
	if part == "" {
		return nil
	}
	root, err := s.a.tree(part)
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	var lines []string
	for _, sp := range root.at("cSld", "spTree").all("sp") {
		if placeholder(sp) != "body" {
			continue
		}
		for _, p := range sp.child("txBody").all("p") {
			if text := strings.TrimSpace(slideText(p, nil)); text != "" {
				lines = append(lines, text)
			}
		}
	}
	if len(lines) > 0 {
		s.md.block("Notes: " + plain(strings.Join(lines, "\n")))
	}
	return nil
}

// slideText is the text of a paragraph.
func slideText(p *node, relations map[string]relation) string {
	var b strings.Builder
	for _, n := range p.children {
		switch n.name {
		case "r", "fld":
			text := n.child("t").text
			if link := relations[relationID(n.at("rPr", "hlinkClick"))]; link.external && text != "" {
				text = mdLink(text, link.target)
			}
			b.WriteString(text)
		case "br":
			b.WriteString("\n")
		case "m", "AlternateContent":
			b.WriteString(mathText(n.child("oMath")))
		}
	}
	return b.String()
}
